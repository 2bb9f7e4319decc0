/* Puts a run of records through a function of the program. */

#include "penstock_native.h"

#define RESULTS_BETWEEN_PAUSES 4096

static int
append(PyObject *result, PyObject *results, PyObject *times, PyObject *time)
{
    return PyList_Append(results, result) < 0 || (times != Py_None && PyList_Append(times, time) < 0) ? -1 : 0;
}

/* Lets signals and other threads have their turn: an iterator in C that goes on and on does not. */
static int
pause_for_others(void)
{
    Py_BEGIN_ALLOW_THREADS
    Py_END_ALLOW_THREADS
    return PyErr_CheckSignals();
}

static int
gather_from_iterator(PyObject *iterator, PyObject *results, PyObject *times, PyObject *time)
{
    iternextfunc next = Py_TYPE(iterator)->tp_iternext;
    PyObject *result;
    for (Py_ssize_t count = 1; (result = next(iterator)) != NULL; count++) {
        int status = append(result, results, times, time);
        Py_DECREF(result);
        if (status < 0 || (count % RESULTS_BETWEEN_PAUSES == 0 && pause_for_others() < 0)) {
            return -1;
        }
    }
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_StopIteration)) {
            return -1;
        }
        PyErr_Clear();
    }
    return 0;
}

int
gather(PyObject *found, PyObject *results, PyObject *times, PyObject *time)
{
    int status = 0;
    if (PyTuple_CheckExact(found)) {
        for (Py_ssize_t position = 0; status == 0 && position < PyTuple_GET_SIZE(found); position++) {
            status = append(PyTuple_GET_ITEM(found, position), results, times, time);
        }
    } else {
        PyObject *iterator = iterator_of(found);
        status = iterator == NULL ? -1 : gather_from_iterator(iterator, results, times, time);
        Py_XDECREF(iterator);
    }
    Py_DECREF(found);
    return status;
}

int
require_keys(PyObject *keys)
{
    if (PyList_CheckExact(keys) || PyIter_Check(keys)) {
        return 0;
    }
    PyErr_SetString(PyExc_TypeError, "the keys must be a list or an iterator");
    return -1;
}

PyObject *
next_key(PyObject *keys, Py_ssize_t position)
{
    PyObject *key = NULL;
    if (PyList_CheckExact(keys)) {
        if (position < PyList_GET_SIZE(keys)) {
            key = Py_NewRef(PyList_GET_ITEM(keys, position));
        }
    } else {
        key = Py_TYPE(keys)->tp_iternext(keys);
    }
    if (key == NULL && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_StopIteration))) {
        PyErr_SetString(PyExc_ValueError, "there are fewer keys than records");
    }
    return key;
}

/* Says which record it was, beside the error that is set. */
static void
note_failed(PyObject *failed, PyObject *value)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    if (PyList_Append(failed, value) < 0) {
        PyErr_Clear();
    }
    PyErr_Restore(type, error, traceback);
}

/* Puts one record through the function, with its key, if there is one, and its time. Takes the reference to the key. */
static int
call_for_one(PyObject *call, PyObject *value, PyObject *key, PyObject *time, PyObject *cell, PyTypeObject *plain,
             PyObject *context, int is_access, PyObject *results, PyObject *times)
{
    if ((key != NULL && make_current(cell, plain, key) < 0)
        || (times != Py_None && tell_time(context, is_access, time) < 0)) {
        return -1;
    }
    /* The first place is for the object of a bound method, which then need not copy the others. */
    PyObject *given[3] = {NULL, value, context};
    PyObject *found = PyObject_Vectorcall(call, given + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (found == NULL) {
        return -1;
    }
    if (found == Py_None) {
        Py_DECREF(found);
        return 0;
    }
    return gather(found, results, times, time);
}

/* call_for_each(call, values, keys, timestamps, cell, plain, context, results, times, failed)

   keys is a list, an iterator or None, timestamps and times are lists or None; plain is the class of cells that only
   store a key. The record whose function raises is appended to failed. */
PyObject *
call_for_each(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 10) {
        PyErr_SetString(PyExc_TypeError, "call_for_each takes ten arguments");
        return NULL;
    }
    PyObject *call = arguments[0], *values = arguments[1], *keys = arguments[2], *timestamps = arguments[3];
    PyObject *cell = arguments[4], *plain = arguments[5], *context = arguments[6];
    PyObject *results = arguments[7], *times = arguments[8], *failed = arguments[9];
    if (require(values, &PyList_Type, "a list of records") < 0 || require(cell, &KeyCell_Type, "a key context") < 0
        || require(plain, &PyType_Type, "a class") < 0 || require(results, &PyList_Type, "a list of results") < 0
        || require(failed, &PyList_Type, "a list of failed records") < 0
        || (timestamps != Py_None
            && (require(timestamps, &PyList_Type, "a list of timestamps") < 0
                || require(times, &PyList_Type, "a list of times") < 0))) {
        return NULL;
    }
    if (timestamps != Py_None && PyList_GET_SIZE(timestamps) != PyList_GET_SIZE(values)) {
        PyErr_SetString(PyExc_ValueError, "there are not as many timestamps as records");
        return NULL;
    }
    if (keys != Py_None && require_keys(keys) < 0) {
        return NULL;
    }
    if (timestamps == Py_None) {
        times = Py_None;
    }
    int is_access = PyObject_TypeCheck(context, &ContextAccess_Type);
    if (timestamps == Py_None && tell_time(context, is_access, Py_None) < 0) {
        return NULL;
    }
    Py_ssize_t size = PyList_GET_SIZE(values);
    for (Py_ssize_t position = 0; position < size; position++) {
        PyObject *key = NULL;
        if (keys != Py_None && (key = next_key(keys, position)) == NULL) {
            return NULL;
        }
        /* Functions and key selectors of the program may have shortened the lists, or may do so now. */
        if (position >= PyList_GET_SIZE(values)
            || (timestamps != Py_None && position >= PyList_GET_SIZE(timestamps))) {
            Py_XDECREF(key);
            PyErr_SetString(PyExc_ValueError, "a run was changed while its records were processed");
            return NULL;
        }
        PyObject *value = Py_NewRef(PyList_GET_ITEM(values, position));
        PyObject *time = Py_NewRef(timestamps == Py_None ? Py_None : PyList_GET_ITEM(timestamps, position));
        int status = call_for_one(
            call, value, key, time, cell, (PyTypeObject *)plain, context, is_access, results, times);
        if (status < 0) {
            note_failed(failed, value);
        }
        Py_DECREF(value);
        Py_DECREF(time);
        if (status < 0) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}
