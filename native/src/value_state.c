/* The handle of a state with one value per key, over the heap backend's dictionaries.

   The entries are a dictionary, or its guard while a snapshot is being stored; see penstock/statestore/heap/table.py.
   Handles are objects of exactly this type: the interpreter calls methods of a subclass by a longer way. */

#include "penstock_native.h"

typedef struct {
    PyObject_HEAD
    PyObject *keys;
    PyObject *table;
    PyObject *entries;
    PyObject *initial;
    PyObject *weak_references;
} ValueState;

static PyObject *
ValueState_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"keys", "table", "entries", "initial", NULL};
    PyObject *keys, *table, *entries, *initial;
    if (!PyArg_ParseTupleAndKeywords(
            arguments, keywords, "OOOO:ValueState", names, &keys, &table, &entries, &initial)
        || require(keys, &KeyCell_Type, "a key context") < 0) {
        return NULL;
    }
    ValueState *self = (ValueState *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->keys = Py_NewRef(keys);
        self->table = Py_NewRef(table);
        self->entries = Py_NewRef(entries);
        self->initial = Py_NewRef(initial);
    }
    return (PyObject *)self;
}

static int
ValueState_traverse(ValueState *self, visitproc visit, void *arg)
{
    Py_VISIT(self->keys);
    Py_VISIT(self->table);
    Py_VISIT(self->entries);
    Py_VISIT(self->initial);
    return 0;
}

static int
ValueState_clear_references(ValueState *self)
{
    /* A handle in a circle that is being taken apart may be called once more: it then has nothing, but does not crash. */
    Py_CLEAR(self->table);
    Py_CLEAR(self->initial);
    Py_XSETREF(self->entries, PyDict_New());
    return self->entries == NULL ? -1 : 0;
}

static void
ValueState_dealloc(ValueState *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weak_references != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    Py_CLEAR(self->keys);
    Py_CLEAR(self->table);
    Py_CLEAR(self->entries);
    Py_CLEAR(self->initial);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *
initial_value(ValueState *self)
{
    return Py_NewRef(self->initial != NULL ? self->initial : Py_None);
}

static PyObject *
ValueState_value(ValueState *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *key = current_key(self->keys);
    if (key == NULL) {
        return NULL;
    }
    /* Comparing keys may run code of the program, which may begin a new namespace: the entries are held meanwhile. */
    PyObject *entries = Py_NewRef(self->entries);
    PyObject *value;
    if (PyDict_CheckExact(entries)) {
        value = Py_XNewRef(PyDict_GetItemWithError(entries, key));
        if (value == NULL && !PyErr_Occurred()) {
            value = initial_value(self);
        }
    } else {
        PyObject *initial = initial_value(self);
        value = PyObject_CallMethodObjArgs(entries, name_get, key, initial, NULL);
        Py_DECREF(initial);
    }
    Py_DECREF(entries);
    Py_DECREF(key);
    return value;
}

/* Sets the value of the current key; NULL forgets it. */
static PyObject *
store(ValueState *self, PyObject *value)
{
    PyObject *key = current_key(self->keys);
    if (key == NULL) {
        return NULL;
    }
    PyObject *entries = Py_NewRef(self->entries);
    int status;
    if (value == NULL) {
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
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
ValueState_update(ValueState *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (count + named != 1 || (named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "value"))) {
        PyErr_SetString(PyExc_TypeError, "update() takes exactly one argument, 'value'");
        return NULL;
    }
    return store(self, arguments[0] == Py_None ? NULL : arguments[0]);
}

static PyObject *
ValueState_clear(ValueState *self, PyObject *Py_UNUSED(ignored))
{
    return store(self, NULL);
}

static PyObject *
ValueState_set_namespace(ValueState *self, PyObject *namespace)
{
    PyObject *entries = PyObject_CallMethodOneArg(self->table != NULL ? self->table : Py_None, name_view, namespace);
    if (entries == NULL) {
        return NULL;
    }
    Py_XSETREF(self->entries, entries);
    Py_RETURN_NONE;
}

static PyMethodDef ValueState_methods[] = {
    {"value", (PyCFunction)ValueState_value, METH_NOARGS, "value($self)\n--\n\nReturn the value of the current key."},
    {"update", (PyCFunction)(void (*)(void))ValueState_update, METH_FASTCALL | METH_KEYWORDS,
     "update($self, value)\n--\n\nSet the value of the current key; None forgets it."},
    {"clear", (PyCFunction)ValueState_clear, METH_NOARGS, "clear($self)\n--\n\nForget what the current key has."},
    {"set_namespace", (PyCFunction)ValueState_set_namespace, METH_O,
     "set_namespace($self, namespace, /)\n--\n\nLook at another namespace from now on."},
    {NULL},
};

static int
ValueState_set_entries(ValueState *self, PyObject *entries, void *Py_UNUSED(closure))
{
    if (entries == NULL) {
        PyErr_SetString(PyExc_AttributeError, "a handle needs entries");
        return -1;
    }
    Py_XSETREF(self->entries, Py_NewRef(entries));
    return 0;
}

static PyObject *
ValueState_get_entries(ValueState *self, void *Py_UNUSED(closure))
{
    return Py_NewRef(self->entries);
}

/* A table replaces the entries of its handles by a guard, and back. */
static PyGetSetDef ValueState_properties[] = {
    {"_entries", (getter)ValueState_get_entries, (setter)ValueState_set_entries, NULL, NULL},
    {NULL},
};

PyTypeObject ValueState_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "penstock_native.ValueState",
    .tp_doc = "One value per key.",
    .tp_basicsize = sizeof(ValueState),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = ValueState_new,
    .tp_traverse = (traverseproc)ValueState_traverse,
    .tp_clear = (inquiry)ValueState_clear_references,
    .tp_dealloc = (destructor)ValueState_dealloc,
    .tp_weaklistoffset = offsetof(ValueState, weak_references),
    .tp_methods = ValueState_methods,
    .tp_getset = ValueState_properties,
};
