/* Timers of event time: registering one for the current key, firing those of one moment.

   A moment has a dictionary of the owners that wait for it, (key, namespace); see penstock/runtime/time/timers.py. */

#include "penstock_native.h"

typedef struct {
    PyObject_HEAD
    PyObject *keys;
    PyObject *buckets;
    PyObject *otherwise;
} TimerAccess;

static int
TimerAccess_init(TimerAccess *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"keys", "buckets", "otherwise", NULL};
    PyObject *keys, *buckets, *otherwise;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO:TimerAccess", names, &keys, &buckets, &otherwise)
        || require(keys, &KeyCell_Type, "a key context") < 0 || require(buckets, &PyDict_Type, "a dictionary") < 0) {
        return -1;
    }
    Py_XSETREF(self->keys, Py_NewRef(keys));
    Py_XSETREF(self->buckets, Py_NewRef(buckets));
    Py_XSETREF(self->otherwise, Py_NewRef(otherwise));
    return 0;
}

static int
TimerAccess_traverse(TimerAccess *self, visitproc visit, void *arg)
{
    Py_VISIT(self->keys);
    Py_VISIT(self->buckets);
    Py_VISIT(self->otherwise);
    return 0;
}

static int
TimerAccess_clear(TimerAccess *self)
{
    Py_CLEAR(self->keys);
    Py_CLEAR(self->buckets);
    Py_CLEAR(self->otherwise);
    return 0;
}

static void
TimerAccess_dealloc(TimerAccess *self)
{
    PyObject_GC_UnTrack(self);
    TimerAccess_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Adds an owner to the dictionary of a moment that somebody waits for already; whatever else is left to Python. */
static PyObject *
TimerAccess_register(TimerAccess *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (self->buckets == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the timers were not initialised");
        return NULL;
    }
    PyObject *bucket = NULL;
    /* What is no int is for Python to refuse, although it may be equal to one. */
    if (count == 1 && names == NULL && PyLong_CheckExact(arguments[0])) {
        bucket = PyDict_GetItemWithError(self->buckets, arguments[0]);
        if (bucket == NULL && PyErr_Occurred()) {
            return NULL;
        }
    }
    if (bucket == NULL || !PyDict_CheckExact(bucket)) {
        return PyObject_Vectorcall(self->otherwise, arguments, count, names);
    }
    /* Making an owner may let the collector run, and with it code of the program that deletes timers. */
    Py_INCREF(bucket);
    PyObject *key = current_key(self->keys);
    PyObject *owner = key == NULL ? NULL : PyTuple_Pack(2, key, Py_None);
    int status = owner == NULL ? -1 : PyDict_SetItem(bucket, owner, Py_None);
    Py_XDECREF(owner);
    Py_XDECREF(key);
    Py_DECREF(bucket);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef TimerAccess_methods[] = {
    {"register_event_time_timer", (PyCFunction)(void (*)(void))TimerAccess_register, METH_FASTCALL | METH_KEYWORDS,
     "Set a timer for when the watermark reaches a timestamp."},
    {NULL},
};

PyTypeObject TimerAccess_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "penstock_native.TimerAccess",
    .tp_doc = "Registers timers of event time.",
    .tp_basicsize = sizeof(TimerAccess),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)TimerAccess_init,
    .tp_traverse = (traverseproc)TimerAccess_traverse,
    .tp_clear = (inquiry)TimerAccess_clear,
    .tp_dealloc = (destructor)TimerAccess_dealloc,
    .tp_methods = TimerAccess_methods,
};

/* Takes an owner out of the dictionary of its moment; returns whether it was there. */
static int
take(PyObject *bucket, PyObject *owner)
{
    int is_there = PyDict_Contains(bucket, owner);
    return is_there <= 0 ? is_there : PyDict_DelItem(bucket, owner) < 0 ? -1 : 1;
}

/* fire_timers(timestamp, bucket, call, cell, plain, context, results, times, protects)

   Owners that are deleted meanwhile do not fire, owners that are added meanwhile stay for the next time. */
PyObject *
fire_timers(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 9) {
        PyErr_SetString(PyExc_TypeError, "fire_timers takes nine arguments");
        return NULL;
    }
    PyObject *timestamp = arguments[0], *bucket = arguments[1], *call = arguments[2], *cell = arguments[3];
    PyObject *plain = arguments[4], *context = arguments[5], *results = arguments[6], *times = arguments[7];
    if (require(bucket, &PyDict_Type, "a dictionary") < 0 || require(cell, &KeyCell_Type, "a key context") < 0
        || require(plain, &PyType_Type, "a class") < 0 || require(context, &ContextAccess_Type, "a context") < 0
        || require(results, &PyList_Type, "a list") < 0 || require(times, &PyList_Type, "a list") < 0) {
        return NULL;
    }
    Gathering to = {results, times, PyObject_IsTrue(arguments[8]), 0};
    PyObject *owners = PyDict_Keys(bucket);
    if (owners == NULL) {
        return NULL;
    }
    for (Py_ssize_t position = 0; position < PyList_GET_SIZE(owners); position++) {
        PyObject *owner = PyList_GET_ITEM(owners, position);
        if (require(owner, &PyTuple_Type, "an owner") < 0) {
            goto failed;
        }
        int is_there = take(bucket, owner);
        if (is_there < 0) {
            goto failed;
        }
        if (!is_there) {
            continue;
        }
        if (make_current(cell, (PyTypeObject *)plain, Py_NewRef(PyTuple_GET_ITEM(owner, 0))) < 0
            || tell_time(context, 1, timestamp) < 0) {
            goto failed;
        }
        PyObject *given[3] = {NULL, timestamp, context};
        PyObject *found = PyObject_Vectorcall(call, given + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        if (found == NULL) {
            goto failed;
        }
        if (gather(found, NULL, &to, timestamp, NULL) < 0) {
            goto failed;
        }
    }
    Py_DECREF(owners);
    Py_RETURN_NONE;
failed:
    Py_DECREF(owners);
    return NULL;
}
