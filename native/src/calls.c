/* Puts a run of records through a function of the program. */

#include "penstock_native.h"

static int
append(PyObject *result, PyObject *results, PyObject *times, PyObject *time)
{
    return PyList_Append(results, result) < 0 || (times != Py_None && PyList_Append(times, time) < 0) ? -1 : 0;
}

int
gather(PyObject *found, PyObject *results, PyObject *times, PyObject *time)
{
    PyObject *iterator = PyObject_GetIter(found);
    Py_DECREF(found);
    if (iterator == NULL) {
        return -1;
    }
    iternextfunc next = Py_TYPE(iterator)->tp_iternext;
    PyObject *result;
    while ((result = next(iterator)) != NULL) {
        int status = append(result, results, times, time);
        Py_DECREF(result);
        if (status < 0) {
            break;
        }
    }
    Py_DECREF(iterator);
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_StopIteration)) {
            return -1;
        }
        PyErr_Clear();
    }
    return 0;
}

/* Returns the next key; NULL with an error set if there is none. */
static PyObject *
next_key(PyObject *keys)
{
    PyObject *key = Py_TYPE(keys)->tp_iternext(keys);
    if (key == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "there are fewer keys than records");
    }
    return key;
}

/* call_for_each(call, values, keys, timestamps, cell, plain, context, results, times, failed)

   keys is an iterator or None, timestamps a list or None; plain is the class of cells that only store a key. The record
   whose function raises is appended to failed. */
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
    if (keys != Py_None && !PyIter_Check(keys)) {
        PyErr_SetString(PyExc_TypeError, "the keys must be an iterator");
        return NULL;
    }
    int is_access = PyObject_TypeCheck(context, &ContextAccess_Type);
    if (timestamps == Py_None && tell_time(context, is_access, Py_None) < 0) {
        return NULL;
    }
    for (Py_ssize_t position = 0; position < PyList_GET_SIZE(values); position++) {
        if (keys != Py_None) {
            PyObject *key = next_key(keys);
            if (key == NULL || make_current(cell, (PyTypeObject *)plain, key) < 0) {
                return NULL;
            }
        }
        PyObject *time = Py_None;
        if (timestamps != Py_None) {
            if (position >= PyList_GET_SIZE(timestamps)) {
                PyErr_SetString(PyExc_RuntimeError, "the timestamps were changed while their records were processed");
                return NULL;
            }
            time = PyList_GET_ITEM(timestamps, position);
            if (tell_time(context, is_access, time) < 0) {
                return NULL;
            }
        }
        /* The program may change the lists while its function runs. */
        PyObject *value = Py_NewRef(PyList_GET_ITEM(values, position));
        Py_INCREF(time);
        /* The first place is for the object of a bound method, which then need not copy the others. */
        PyObject *given[3] = {NULL, value, context};
        PyObject *found = PyObject_Vectorcall(call, given + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        int status = found == NULL ? -1 : 0;
        if (found == Py_None) {
            Py_DECREF(found);
        } else if (found != NULL) {
            status = gather(found, results, times, time);
        }
        if (status < 0) {
            PyObject *type, *error, *traceback;
            PyErr_Fetch(&type, &error, &traceback);
            if (PyList_Append(failed, value) < 0) {
                PyErr_Clear();
            }
            PyErr_Restore(type, error, traceback);
        }
        Py_DECREF(value);
        Py_DECREF(time);
        if (status < 0) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}
