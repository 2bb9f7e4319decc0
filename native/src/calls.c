/* Puts a run of records through a function of the program. */

#include "penstock_native.h"

#include <time.h>

/* After so many results, or so many nanoseconds, a call gives way to the task. */
#define MOST_RESULTS 1024
#define LONGEST_NANOSECONDS 10000000
/* A list or tuple of so many results is worked off like a generator. */
#define LARGE 4096

static long long
nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Appends a result and its time. Takes the reference to the result, which may be NULL with an error set. */
static int
append(PyObject *result, PyObject *results, PyObject *times, PyObject *time)
{
    if (result == NULL) {
        return -1;
    }
    int status = PyList_Append(results, result) < 0 || (times != Py_None && PyList_Append(times, time) < 0) ? -1 : 0;
    Py_DECREF(result);
    return status;
}

/* Lets signals and other threads have their turn: an iterator in C that goes on and on does not. */
static int
pause_for_others(void)
{
    Py_BEGIN_ALLOW_THREADS
    Py_END_ALLOW_THREADS
    return PyErr_CheckSignals();
}

/* Takes results of an iterator; returns 1 if it stopped before the end. */
static int
gather_some(PyObject *iterator, PyObject *input, const Gathering *to, PyObject *time)
{
    iternextfunc next = Py_TYPE(iterator)->tp_iternext;
    PyObject *result;
    long long start = 0;
    for (int count = 1; (result = next(iterator)) != NULL; count++) {
        /* What a generator has yielded it may refer to, and change when it goes on. */
        result = to->protects ? hand_over(result, 1, input, 3) : result;
        if (append(result, to->results, to->times, time) < 0) {
            return -1;
        }
        if (count == 2) {
            start = nanoseconds();
        } else if (count > 2 && (count >= MOST_RESULTS || nanoseconds() - start > LONGEST_NANOSECONDS)) {
            if (to->may_stop) {
                return 1;
            }
            if (pause_for_others() < 0) {
                return -1;
            }
            count = 1;
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

/* Takes the results that a function returned in a tuple or list. */
static int
gather_sequence(PyObject *found, PyObject *input, const Gathering *to, PyObject *time)
{
    /* Results in a sequence that somebody keeps can be reached by others. */
    Py_ssize_t own = Py_REFCNT(found) == 1 ? 2 : 0;
    for (Py_ssize_t position = 0; position < PySequence_Fast_GET_SIZE(found); position++) {
        PyObject *result = Py_NewRef(PySequence_Fast_GET_ITEM(found, position));
        result = to->protects ? hand_over(result, own, input, own == 0 ? 0 : 4) : result;
        if (append(result, to->results, to->times, time) < 0) {
            return -1;
        }
    }
    return 0;
}

int
gather(PyObject *found, PyObject *input, const Gathering *to, PyObject *time, PyObject **rest)
{
    int status;
    if (found == Py_None) {
        status = 0;
    } else if ((PyTuple_CheckExact(found) || PyList_CheckExact(found)) && PySequence_Fast_GET_SIZE(found) < LARGE) {
        status = gather_sequence(found, input, to, time);
    } else {
        PyObject *iterator = iterator_of(found);
        status = iterator == NULL ? -1 : gather_some(iterator, input, to, time);
        if (status > 0) {
            *rest = Py_NewRef(iterator);
        }
        Py_XDECREF(iterator);
    }
    Py_DECREF(found);
    return status;
}

/* gather_all(found, time, results, times, protects): takes all results of a call. */
PyObject *
gather_all(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 5 || !PyList_CheckExact(arguments[2])
        || (arguments[3] != Py_None && !PyList_CheckExact(arguments[3]))) {
        PyErr_SetString(PyExc_TypeError, "gather_all takes an iterable, a time, results, their times and a flag");
        return NULL;
    }
    Gathering to = {arguments[2], arguments[3], PyObject_IsTrue(arguments[4]), 0};
    return gather(Py_NewRef(arguments[0]), NULL, &to, arguments[1], NULL) < 0 ? NULL : Py_NewRef(Py_None);
}

/* gather_more(iterator, time, results, times, protects): takes further results; tells whether there may be more. */
PyObject *
gather_more(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 5 || !PyIter_Check(arguments[0]) || !PyList_CheckExact(arguments[2])
        || (arguments[3] != Py_None && !PyList_CheckExact(arguments[3]))) {
        PyErr_SetString(PyExc_TypeError, "gather_more takes an iterator, a time, results, their times and a flag");
        return NULL;
    }
    Gathering to = {arguments[2], arguments[3], PyObject_IsTrue(arguments[4]), 1};
    int status = gather_some(arguments[0], NULL, &to, arguments[1]);
    return status < 0 ? NULL : PyBool_FromLong(status);
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

/* Returns what the function makes of a record, with its key, if there is one, and its time. Takes the reference to the
   key. */
static PyObject *
call_for_one(const Call *call, PyObject *value, PyObject *key, PyObject *time)
{
    if (key != NULL && make_current(call->cell, call->plain, key) < 0) {
        return NULL;
    }
    /* The first place is for the object of a bound method, which then need not copy the others. */
    PyObject *given[3] = {NULL, value, call->context};
    if (call->context == Py_None) {
        return PyObject_Vectorcall(call->function, given + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    }
    if (call->has_times && tell_time(call->context, call->is_access, time) < 0) {
        return NULL;
    }
    return PyObject_Vectorcall(call->function, given + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* Checks the lists of a run, and that they have one length. */
static int
require_run(PyObject *values, PyObject *timestamps, PyObject *keys)
{
    if (require(values, &PyList_Type, "a list of records") < 0
        || (timestamps != Py_None && require(timestamps, &PyList_Type, "a list of timestamps") < 0)
        || (keys != Py_None && require_keys(keys) < 0)) {
        return -1;
    }
    if (timestamps != Py_None && PyList_GET_SIZE(timestamps) != PyList_GET_SIZE(values)) {
        PyErr_SetString(PyExc_ValueError, "there are not as many timestamps as records");
        return -1;
    }
    return 0;
}

/* Takes a record, its key and its time out of a run. Functions and key selectors of the program may have shortened the
   lists, or may do so now. */
static int
take_record(PyObject *values, PyObject *timestamps, PyObject *keys, Py_ssize_t position, Taken *taken)
{
    taken->key = NULL;
    if (keys != Py_None && (taken->key = next_key(keys, position)) == NULL) {
        return -1;
    }
    if (position >= PyList_GET_SIZE(values) || (timestamps != Py_None && position >= PyList_GET_SIZE(timestamps))) {
        Py_XDECREF(taken->key);
        PyErr_SetString(PyExc_ValueError, "a run was changed while its records were processed");
        return -1;
    }
    taken->value = Py_NewRef(PyList_GET_ITEM(values, position));
    taken->time = Py_NewRef(timestamps == Py_None ? Py_None : PyList_GET_ITEM(timestamps, position));
    return 0;
}

/* Ends what was begun with take_record; returns the status, and says which record it was beside an error. */
static int
give_back(Taken *taken, int status, PyObject *failed)
{
    if (status < 0) {
        note_failed(failed, taken->value);
    }
    Py_DECREF(taken->value);
    Py_DECREF(taken->time);
    return status;
}

/* call_for_each(call, values, keys, timestamps, cell, plain, context, results, times, failed, protects)

   keys is a list, an iterator or None, timestamps and times are lists or None, and so may the context be, for functions
   of the record alone; plain is the class of cells that only store a key. The record whose function raises is appended
   to failed. Returns the position of a record with results to come, their iterator, and how many came. */
PyObject *
call_for_each(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 11) {
        PyErr_SetString(PyExc_TypeError, "call_for_each takes eleven arguments");
        return NULL;
    }
    PyObject *values = arguments[1], *keys = arguments[2], *timestamps = arguments[3];
    PyObject *cell = arguments[4], *plain = arguments[5], *context = arguments[6], *failed = arguments[9];
    PyObject *times = timestamps == Py_None ? Py_None : arguments[8];
    if (require_run(values, timestamps, keys) < 0 || require(cell, &KeyCell_Type, "a key context") < 0
        || require(plain, &PyType_Type, "a class") < 0 || require(arguments[7], &PyList_Type, "a list of results") < 0
        || (times != Py_None && require(times, &PyList_Type, "a list of times") < 0)
        || require(failed, &PyList_Type, "a list of failed records") < 0) {
        return NULL;
    }
    Gathering to = {arguments[7], times, PyObject_IsTrue(arguments[10]), 1};
    Call call = {arguments[0], context, cell, (PyTypeObject *)plain, PyObject_TypeCheck(context, &ContextAccess_Type),
                 times != Py_None};
    if (!call.has_times && context != Py_None && tell_time(context, call.is_access, Py_None) < 0) {
        return NULL;
    }
    Py_ssize_t size = PyList_GET_SIZE(values);
    for (Py_ssize_t position = 0; position < size; position++) {
        Taken taken;
        if (take_record(values, timestamps, keys, position, &taken) < 0) {
            return NULL;
        }
        PyObject *rest = NULL;
        Py_ssize_t before = PyList_GET_SIZE(to.results);
        PyObject *found = call_for_one(&call, taken.value, taken.key, taken.time);
        int status = found == NULL ? -1 : gather(found, taken.value, &to, taken.time, &rest);
        if (give_back(&taken, status, failed) < 0) {
            return NULL;
        }
        if (rest != NULL) {
            return Py_BuildValue("nNn", position, rest, PyList_GET_SIZE(to.results) - before);
        }
    }
    Py_RETURN_NONE;
}
