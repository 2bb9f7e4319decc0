/* What handles of the heap backend have in common, and the handle of a state with one value per key.

   The entries are a dictionary, or its guard while a snapshot is being stored; see penstock/statestore/heap_table.py. */

#include "penstock_native.h"

typedef struct {
    PyObject_HEAD
    PyObject *keys;
    PyObject *entries;
    PyObject *table;
} StateAccess;

typedef struct {
    StateAccess access;
    PyObject *initial;
} ValueAccess;

static int
StateAccess_init(StateAccess *self, PyObject *arguments, PyObject *keywords)
{
    PyObject *keys, *table, *entries;
    if ((keywords != NULL && PyDict_GET_SIZE(keywords) > 0)
        || !PyArg_ParseTuple(arguments, "OOO:StateAccess", &keys, &table, &entries)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "StateAccess takes no keyword arguments");
        }
        return -1;
    }
    if (require(keys, &KeyCell_Type, "a key context") < 0) {
        return -1;
    }
    Py_XSETREF(self->keys, Py_NewRef(keys));
    Py_XSETREF(self->table, Py_NewRef(table));
    Py_XSETREF(self->entries, Py_NewRef(entries));
    return 0;
}

static int
StateAccess_traverse(StateAccess *self, visitproc visit, void *arg)
{
    Py_VISIT(self->keys);
    Py_VISIT(self->entries);
    Py_VISIT(self->table);
    return 0;
}

static int
StateAccess_clear(StateAccess *self)
{
    Py_CLEAR(self->keys);
    Py_CLEAR(self->entries);
    Py_CLEAR(self->table);
    return 0;
}

static void
StateAccess_dealloc(StateAccess *self)
{
    PyObject_GC_UnTrack(self);
    StateAccess_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef StateAccess_members[] = {
    {"_keys", T_OBJECT_EX, offsetof(StateAccess, keys), READONLY, NULL},
    {"_entries", T_OBJECT_EX, offsetof(StateAccess, entries), 0, NULL},
    {"_table", T_OBJECT_EX, offsetof(StateAccess, table), READONLY, NULL},
    {NULL},
};

PyTypeObject StateAccess_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "penstock_native.StateAccess",
    .tp_doc = "The current key, the table and the entries of the current namespace.",
    .tp_basicsize = sizeof(StateAccess),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)StateAccess_init,
    .tp_traverse = (traverseproc)StateAccess_traverse,
    .tp_clear = (inquiry)StateAccess_clear,
    .tp_dealloc = (destructor)StateAccess_dealloc,
    .tp_members = StateAccess_members,
};

/* Says that __init__ was not called, which is the only way to have no entries. */
static int
is_ready(const StateAccess *self)
{
    if (self->entries == NULL || self->keys == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the state handle was not initialised");
        return 0;
    }
    return 1;
}

static PyObject *
or_none(PyObject *value)
{
    return Py_NewRef(value != NULL ? value : Py_None);
}

static PyObject *
ValueAccess_value(ValueAccess *self, PyObject *Py_UNUSED(ignored))
{
    StateAccess *access = &self->access;
    if (!is_ready(access)) {
        return NULL;
    }
    PyObject *key = current_key(access->keys);
    if (key == NULL) {
        return NULL;
    }
    /* Comparing keys may run code of the program, which may begin a new namespace: the entries are held meanwhile. */
    PyObject *entries = Py_NewRef(access->entries);
    PyObject *value;
    if (PyDict_CheckExact(entries)) {
        value = Py_XNewRef(PyDict_GetItemWithError(entries, key));
        if (value == NULL && !PyErr_Occurred()) {
            value = or_none(self->initial);
        }
    } else {
        PyObject *initial = or_none(self->initial);
        value = PyObject_CallMethodObjArgs(entries, name_get, key, initial, NULL);
        Py_DECREF(initial);
    }
    Py_DECREF(entries);
    Py_DECREF(key);
    return value;
}

static PyObject *
ValueAccess_update(ValueAccess *self, PyObject *value)
{
    StateAccess *access = &self->access;
    if (!is_ready(access)) {
        return NULL;
    }
    PyObject *key = current_key(access->keys);
    if (key == NULL) {
        return NULL;
    }
    PyObject *entries = Py_NewRef(access->entries);
    int status;
    if (value == Py_None) {
        PyObject *popped = PyObject_CallMethodObjArgs(entries, name_pop, key, Py_None, NULL);
        status = popped == NULL ? -1 : 0;
        Py_XDECREF(popped);
    } else if (PyDict_CheckExact(entries)) {
        status = PyDict_SetItem(entries, key, value);
    } else {
        status = PyObject_SetItem(entries, key, value);
    }
    Py_DECREF(entries);
    Py_DECREF(key);
    if (status < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static int
ValueAccess_traverse(ValueAccess *self, visitproc visit, void *arg)
{
    Py_VISIT(self->initial);
    return StateAccess_traverse(&self->access, visit, arg);
}

static int
ValueAccess_clear(ValueAccess *self)
{
    Py_CLEAR(self->initial);
    return StateAccess_clear(&self->access);
}

static void
ValueAccess_dealloc(ValueAccess *self)
{
    PyObject_GC_UnTrack(self);
    ValueAccess_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef ValueAccess_methods[] = {
    {"value", (PyCFunction)ValueAccess_value, METH_NOARGS, "Return the value of the current key."},
    {"update", (PyCFunction)ValueAccess_update, METH_O, "Set the value of the current key; None forgets it."},
    {NULL},
};

static PyMemberDef ValueAccess_members[] = {
    {"_initial", T_OBJECT, offsetof(ValueAccess, initial), 0, NULL},
    {NULL},
};

PyTypeObject ValueAccess_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "penstock_native.ValueAccess",
    .tp_doc = "One value per key.",
    .tp_basicsize = sizeof(ValueAccess),
    .tp_base = &StateAccess_Type,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_traverse = (traverseproc)ValueAccess_traverse,
    .tp_clear = (inquiry)ValueAccess_clear,
    .tp_dealloc = (destructor)ValueAccess_dealloc,
    .tp_methods = ValueAccess_methods,
    .tp_members = ValueAccess_members,
};
