/* Looks over a run as a whole, and at what functions return. */

#include "penstock_native.h"

/* are_all(run, type)

   Tells whether all of a list are instances of a class itself, not of one derived from it. */
PyObject *
are_all(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "are_all takes two arguments");
        return NULL;
    }
    PyObject *run = arguments[0];
    if (require(run, &PyList_Type, "a list") < 0 || require(arguments[1], &PyType_Type, "a class") < 0) {
        return NULL;
    }
    PyTypeObject *type = (PyTypeObject *)arguments[1];
    for (Py_ssize_t position = 0; position < PyList_GET_SIZE(run); position++) {
        if (!Py_IS_TYPE(PyList_GET_ITEM(run, position), type)) {
            Py_RETURN_FALSE;
        }
    }
    Py_RETURN_TRUE;
}

PyObject *
iterator_of(PyObject *found)
{
    PyObject *iterator = PyObject_GetIter(found);
    if (iterator == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyObject *type, *error, *traceback;
        PyErr_Fetch(&type, &error, &traceback);
        PyErr_NormalizeException(&type, &error, &traceback);
        if (error != NULL && PyObject_SetAttrString(error, "returned", found) < 0) {
            PyErr_Clear();
        }
        PyErr_Restore(type, error, traceback);
    }
    return iterator;
}
