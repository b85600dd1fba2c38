// What a plug-in needs of ggml's interface, for the plug-ins that the tests compile.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef VERSION
#define VERSION 2
#endif

typedef struct reg reg;
typedef struct device device;
typedef struct buft buft;
typedef struct buffer buffer;
typedef struct stream stream;

struct buft {
    const char *(*get_name)(buft *);
    buffer *(*alloc_buffer)(buft *, size_t);
    size_t (*get_alignment)(buft *);
    size_t (*get_max_size)(buft *);
    size_t (*get_alloc_size)(buft *, const void *);
    bool (*is_host)(buft *);
    device *dev;
    void *context;
};

struct buffer {
    void (*free_buffer)(buffer *);
    void *(*get_base)(buffer *);
    void *init_tensor;
    void *memset_tensor;
    void (*set_tensor)(buffer *, void *, const void *, size_t, size_t);
    void (*get_tensor)(buffer *, const void *, void *, size_t, size_t);
#if VERSION >= 2
    void *set_2d, *get_2d;
#endif
    void *cpy_tensor;
    void (*clear)(buffer *, uint8_t);
    void *reset;
    buft *type;
    void *context;
    size_t size;
    int usage;
};

struct device {
    const char *(*get_name)(device *);
    const char *(*get_description)(device *);
    void (*get_memory)(device *, size_t *, size_t *);
    int (*get_type)(device *);
    void (*get_props)(device *, void *);
    stream *(*init_backend)(device *, const char *);
    buft *(*get_buffer_type)(device *);
    buft *(*get_host_buffer_type)(device *);
    void *buffer_from_host_ptr;
    bool (*supports_op)(device *, const void *);
    bool (*supports_buft)(device *, buft *);
    void *offload_op, *event_new, *event_free, *event_synchronize;
    reg *owner;
    void *context;
};

struct reg {
    int api_version;
    const char *(*get_name)(reg *);
    size_t (*get_device_count)(reg *);
    device *(*get_device)(reg *, size_t);
    void *(*get_proc_address)(reg *, const char *);
    void *context;
};

struct stream {
    const uint8_t (*guid)[16];
    const char *(*get_name)(stream *);
    void (*free)(stream *);
    void (*set_tensor_async)(stream *, void *, const void *, size_t, size_t);
    void (*get_tensor_async)(stream *, const void *, void *, size_t, size_t);
#if VERSION >= 2
    void *set_2d_async, *get_2d_async;
#endif
    bool (*cpy_tensor_async)(stream *, stream *, const void *, void *);
    void (*synchronize)(stream *);
    void *plan_create, *plan_free, *plan_update, *plan_compute;
    int (*graph_compute)(stream *, void *);
    void (*event_record)(stream *, void *);
    void (*event_wait)(stream *, void *);
#if VERSION >= 2
    void *graph_optimize;
#endif
    device *dev;
    void *context;
};

static const char *name_of_device(device *d) { return (const char *)d->context; }
static const char *describe(device *d) { (void)d; return "a device for tests"; }
static int kind(device *d) { (void)d; return 1; }
static stream *no_stream(device *d, const char *p) { (void)d, (void)p; return NULL; }
static bool no_op(device *d, const void *t) { (void)d, (void)t; return false; }

static const char *name_of_buft(buft *b) { (void)b; return "memory"; }
static size_t align64(buft *b) { (void)b; return 64; }
static void free_memory(buffer *b) { free(b->context); free(b); }
static void *base_of(buffer *b) { return b->context; }
static void set_bytes(buffer *b, void *t, const void *data, size_t offset, size_t size) {
    (void)b;
    memcpy(*(char **)((char *)t + 248) + offset, data, size);
}
static void get_bytes(buffer *b, const void *t, void *data, size_t offset, size_t size) {
    (void)b;
    memcpy(data, *(char **)((char *)t + 248) + offset, size);
}
static void clear_bytes(buffer *b, uint8_t v) { memset(b->context, v, b->size); }
static buffer *new_buffer(buft *t, size_t size) {
    buffer *b = calloc(1, sizeof *b);
    b->free_buffer = free_memory, b->get_base = base_of, b->set_tensor = set_bytes;
    b->get_tensor = get_bytes, b->clear = clear_bytes, b->type = t, b->size = size;
    b->context = malloc(size);
    return b;
}
static buffer *no_buffer(buft *t, size_t size) { (void)t, (void)size; return NULL; }

static buft memory = {name_of_buft, new_buffer, align64, NULL, NULL, NULL, NULL, NULL};
static buft *its_memory(device *d) { memory.dev = d; return &memory; }

#define DEVICE(NAME)                                                                               \
    {name_of_device, describe, NULL, kind, NULL, no_stream, its_memory, NULL, NULL, no_op, NULL,     \
     NULL, NULL, NULL, NULL, NULL, (void *)NAME}
