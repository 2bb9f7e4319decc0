/* Spreads records over the subtasks that own their keys. */

#include "penstock_native.h"

/* Where a key group lives: Flink's rule, see penstock/foundation/keys/groups.py. */
static Py_ssize_t
target_of_hash(uint32_t code, long max_parallelism, Py_ssize_t parallelism)
{
    code *= 0xCC9E2D51u;
    code = (code << 15) | (code >> 17);
    code *= 0x1B873593u;
    code = (code << 13) | (code >> 19);
    code = code * 5 + 0xE6546B64u;
    code ^= 4;
    code ^= code >> 16;
    code *= 0x85EBCA6Bu;
    code ^= code >> 13;
    code *= 0xC2B2AE35u;
    code ^= code >> 16;
    /* The absolute value, and nothing for the one number that has none. */
    uint32_t positive = code < 0x80000000u ? code : code == 0x80000000u ? 0 : ~code + 1;
    uint64_t group = positive % (uint32_t)max_parallelism;
    return (Py_ssize_t)(group * (uint64_t)parallelism / (uint64_t)max_parallelism);
}

/* Finds the hash that Java gives to a number of 64 bits or to a text of Unicode's first plane; returns whether it is one. */
static int
java_hash(PyObject *key, uint32_t *code)
{
    if (PyLong_CheckExact(key)) {
        int is_longer;
        long long number = PyLong_AsLongLongAndOverflow(key, &is_longer);
        uint64_t bits = (uint64_t)number;
        *code = number >= INT32_MIN && number <= INT32_MAX ? (uint32_t)bits : (uint32_t)(bits ^ (bits >> 32));
        return !is_longer;
    }
    if (!PyUnicode_CheckExact(key) || PyUnicode_READY(key) < 0) {
        return 0;
    }
    uint32_t value = 0;
    Py_ssize_t length = PyUnicode_GET_LENGTH(key);
    if (PyUnicode_KIND(key) == PyUnicode_1BYTE_KIND) {
        const Py_UCS1 *units = PyUnicode_1BYTE_DATA(key);
        for (Py_ssize_t index = 0; index < length; index++) {
            value = 31 * value + units[index];
        }
    } else if (PyUnicode_KIND(key) == PyUnicode_2BYTE_KIND) {
        const Py_UCS2 *units = PyUnicode_2BYTE_DATA(key);
        for (Py_ssize_t index = 0; index < length; index++) {
            value = 31 * value + units[index];
        }
    } else {
        return 0;
    }
    *code = value;
    return 1;
}

/* Returns the subtask of a key; that of a key which is no number and no text is remembered. -1 with an error set. */
static Py_ssize_t
target_of(PyObject *key, PyObject *cache, long max_parallelism, Py_ssize_t parallelism)
{
    uint32_t code;
    if (java_hash(key, &code)) {
        return target_of_hash(code, max_parallelism, parallelism);
    }
    if (PyErr_Occurred()) {
        return -1;
    }
    PyObject *target = Py_XNewRef(PyDict_GetItemWithError(cache, key));
    if (target == NULL && !PyErr_Occurred()) {
        target = PyObject_GetItem(cache, key);
    }
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

/* spread_by_key(values, keys, timestamps, cache, max_parallelism, runs, times)

   keys is a list or an iterator, timestamps a list or None; runs and times have a list for each target. */
PyObject *
spread_by_key(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 7) {
        PyErr_SetString(PyExc_TypeError, "spread_by_key takes seven arguments");
        return NULL;
    }
    PyObject *values = arguments[0], *keys = arguments[1], *timestamps = arguments[2], *cache = arguments[3];
    long max_parallelism = PyLong_AsLong(arguments[4]);
    PyObject *runs = arguments[5], *times = arguments[6];
    if (max_parallelism <= 0 || max_parallelism > INT32_MAX) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "the number of key groups must be positive");
        }
        return NULL;
    }
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
        Py_ssize_t target = target_of(key, cache, max_parallelism, PyList_GET_SIZE(runs));
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
