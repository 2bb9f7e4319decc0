/* Gives the keys of records, checked; the twin is in penstock/runtime/exchange/key_selection.py. */

#include "penstock_native.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *selector;
    PyObject *select;
    PyObject *check;
    PyObject *failure;
    Py_ssize_t position;
} KeyFunction;

/* Deeper tuples are left to the check in Python. */
#define DEPTH 4

/* Tells whether a key is, in all its parts, of a type whose objects can be keys without a look at them. */
static int
is_plain(PyObject *key, int depth)
{
    if (PyLong_CheckExact(key) || PyUnicode_CheckExact(key) || key == Py_None || PyBytes_CheckExact(key)
        || PyBool_Check(key)) {
        return 1;
    }
    if (PyFloat_CheckExact(key)) {
        double number = PyFloat_AS_DOUBLE(key);
        return number == number;
    }
    if (!PyTuple_CheckExact(key) || depth == 0) {
        return 0;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(key); index++) {
        if (!is_plain(PyTuple_GET_ITEM(key, index), depth - 1)) {
            return 0;
        }
    }
    return 1;
}

/* Takes note of the record for which an error was raised. */
static void
note_failure(KeyFunction *self, PyObject *value)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    PyObject *failure = PyTuple_Pack(2, error, value);
    if (failure == NULL) {
        PyErr_Clear();
    } else {
        Py_XSETREF(self->failure, failure);
    }
    if (PyErr_GivenExceptionMatches(type, PyExc_StopIteration)) {
        /* It would end the loop over the records without a word. */
        PyObject *cause = error;
        if (traceback != NULL) {
            PyException_SetTraceback(cause, traceback);
        }
        Py_DECREF(type);
        Py_XDECREF(traceback);
        PyErr_SetString(PyExc_RuntimeError, "a key selector raised StopIteration");
        PyErr_Fetch(&type, &error, &traceback);
        PyErr_NormalizeException(&type, &error, &traceback);
        PyException_SetCause(error, cause);
    }
    PyErr_Restore(type, error, traceback);
}

static PyObject *
key_of(KeyFunction *self, PyObject *value)
{
    PyObject *key;
    if (self->select == Py_None) {
        key = Py_NewRef(value);
    } else if (self->position >= 0 && PyTuple_CheckExact(value) && self->position < PyTuple_GET_SIZE(value)) {
        key = Py_NewRef(PyTuple_GET_ITEM(value, self->position));
    } else {
        key = PyObject_CallOneArg(self->select, value);
        if (key == NULL) {
            note_failure(self, value);
            return NULL;
        }
    }
    if (self->check != Py_None && !is_plain(key, DEPTH)) {
        PyObject *checked = PyObject_CallOneArg(self->check, key);
        if (checked == NULL) {
            Py_DECREF(key);
            note_failure(self, value);
            return NULL;
        }
        Py_DECREF(checked);
    }
    return key;
}

static PyObject *
KeyFunction_call(PyObject *self, PyObject *const *arguments, size_t count, PyObject *keywords)
{
    if (PyVectorcall_NARGS(count) != 1 || (keywords != NULL && PyTuple_GET_SIZE(keywords) != 0)) {
        PyErr_SetString(PyExc_TypeError, "a key function takes one record");
        return NULL;
    }
    return key_of((KeyFunction *)self, arguments[0]);
}

/* Returns the keys of a run, each when it is asked for; the run itself if its records are their keys. */
static PyObject *
KeyFunction_keys_of(KeyFunction *self, PyObject *values)
{
    if (self->select != Py_None) {
        return PyObject_CallFunctionObjArgs((PyObject *)&PyMap_Type, self, values, NULL);
    }
    if (require(values, &PyList_Type, "a list of records") < 0) {
        return NULL;
    }
    /* Looking at a key may run code of the program, which may shorten the list. */
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(values); index++) {
        PyObject *key = PyList_GET_ITEM(values, index);
        if (!is_plain(key, DEPTH)) {
            Py_INCREF(key);
            PyObject *checked = key_of(self, key);
            Py_DECREF(key);
            if (checked == NULL) {
                return NULL;
            }
            Py_DECREF(checked);
        }
    }
    return Py_NewRef(values);
}

static PyObject *
KeyFunction_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"selector", "select", "position", "check", NULL};
    PyObject *selector, *select, *check;
    Py_ssize_t position;
    if (!PyArg_ParseTupleAndKeywords(
            arguments, keywords, "OOnO:KeyFunction", names, &selector, &select, &position, &check)) {
        return NULL;
    }
    KeyFunction *self = (KeyFunction *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = KeyFunction_call;
        self->selector = Py_NewRef(selector);
        self->select = Py_NewRef(select);
        self->check = Py_NewRef(check);
        self->failure = Py_NewRef(Py_None);
        self->position = position;
    }
    return (PyObject *)self;
}

static int
KeyFunction_traverse(KeyFunction *self, visitproc visit, void *arg)
{
    Py_VISIT(self->selector);
    Py_VISIT(self->select);
    Py_VISIT(self->check);
    Py_VISIT(self->failure);
    return 0;
}

static int
KeyFunction_clear(KeyFunction *self)
{
    Py_CLEAR(self->selector);
    Py_CLEAR(self->select);
    Py_CLEAR(self->check);
    Py_CLEAR(self->failure);
    return 0;
}

static void
KeyFunction_dealloc(KeyFunction *self)
{
    PyObject_GC_UnTrack(self);
    KeyFunction_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef KeyFunction_methods[] = {
    {"keys_of", (PyCFunction)KeyFunction_keys_of, METH_O, "Return the keys of a run."},
    {NULL},
};

static PyMemberDef KeyFunction_members[] = {
    {"selector", T_OBJECT_EX, offsetof(KeyFunction, selector), READONLY, "What the program says about keys."},
    {"failure", T_OBJECT_EX, offsetof(KeyFunction, failure), READONLY, "The last error and its record."},
    {NULL},
};

PyTypeObject KeyFunction_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "penstock_native.KeyFunction",
    .tp_doc = "Gives the keys of records, checked; what finds them is called once.",
    .tp_basicsize = sizeof(KeyFunction),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = KeyFunction_new,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(KeyFunction, vectorcall),
    .tp_traverse = (traverseproc)KeyFunction_traverse,
    .tp_clear = (inquiry)KeyFunction_clear,
    .tp_dealloc = (destructor)KeyFunction_dealloc,
    .tp_methods = KeyFunction_methods,
    .tp_members = KeyFunction_members,
};
