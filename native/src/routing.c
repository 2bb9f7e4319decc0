/* Spreads records over the subtasks that own their keys. */

#include "penstock_native.h"

/* Returns the subtask of a key, which the cache computes for a key that it has not seen; -1 with an error set. */
static Py_ssize_t
target_of(PyObject *cache, PyObject *key)
{
    PyObject *target = PyDict_GetItemWithError(cache, key);
    if (target != NULL) {
        return PyLong_AsSsize_t(target);
    }
    if (PyErr_Occurred()) {
        return -1;
    }
    target = PyObject_GetItem(cache, key);
    if (target == NULL) {
        return -1;
    }
    Py_ssize_t index = PyLong_AsSsize_t(target);
    Py_DECREF(target);
    return index;
}

static int
are_lists(PyObject *runs)
{
    if (require(runs, &PyList_Type, "a list of lists") < 0) {
        return 0;
    }
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(runs); index++) {
        if (require(PyList_GET_ITEM(runs, index), &PyList_Type, "a list") < 0) {
            return 0;
        }
    }
    return 1;
}

/* spread_by_key(values, keys, timestamps, cache, runs, times)

   keys is a list or an iterator, timestamps a list or None; runs and times have a list for each target. */
PyObject *
spread_by_key(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 6) {
        PyErr_SetString(PyExc_TypeError, "spread_by_key takes six arguments");
        return NULL;
    }
    PyObject *values = arguments[0], *keys = arguments[1], *timestamps = arguments[2], *cache = arguments[3];
    PyObject *runs = arguments[4], *times = arguments[5];
    int has_times = timestamps != Py_None;
    if (require(values, &PyList_Type, "a list of records") < 0 || require(cache, &PyDict_Type, "a cache") < 0
        || !are_lists(runs) || (has_times && require(timestamps, &PyList_Type, "a list of timestamps") < 0)
        || (has_times && !are_lists(times))) {
        return NULL;
    }
    if (require_keys(keys) < 0) {
        return NULL;
    }
    Py_ssize_t size = PyList_GET_SIZE(values);
    for (Py_ssize_t position = 0; position < size; position++) {
        PyObject *key = next_key(keys, position);
        if (key == NULL) {
            return NULL;
        }
        Py_ssize_t target = target_of(cache, key);
        Py_DECREF(key);
        if (target < 0 || target >= PyList_GET_SIZE(runs) || (has_times && target >= PyList_GET_SIZE(times))) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_IndexError, "there is no target %zd", target);
            }
            return NULL;
        }
        /* A key selector of the program may have shortened the lists. */
        if (position >= PyList_GET_SIZE(values) || (has_times && position >= PyList_GET_SIZE(timestamps))) {
            PyErr_SetString(PyExc_ValueError, "a run was changed while its records were spread");
            return NULL;
        }
        if (PyList_Append(PyList_GET_ITEM(runs, target), PyList_GET_ITEM(values, position)) < 0
            || (has_times
                && PyList_Append(PyList_GET_ITEM(times, target), PyList_GET_ITEM(timestamps, position)) < 0)) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}
