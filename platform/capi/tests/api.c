#define _DEFAULT_SOURCE /* fork, alarm */
/* Every function of dinrail.h, used well and used badly. Run with the name of a device (the best one where there is none). A mistake
 * of the caller's must give a status, never a crash; the sanitizers and valgrind watch. */
#include <dinrail.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;
#define EXPECT(condition)                                                        \
    do {                                                                         \
        if (!(condition)) {                                                      \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            failures++;                                                          \
        }                                                                        \
    } while (0)
/* A call that must end with a status, with or without somebody to tell. */
static dinrail_error E;
#define GIVES(status, call)                                                      \
    do {                                                                         \
        dinrail_status got_ = (call);                                            \
        if (got_ != (status)) {                                                  \
            char text_[256];                                                     \
            dinrail_error_text(&E, text_, sizeof text_);                         \
            fprintf(stderr, "%s:%d: %s is %s (%s)\n", __FILE__, __LINE__, #call, \
                    dinrail_status_name(got_), text_);                           \
            failures++;                                                          \
        }                                                                        \
    } while (0)
#define OK(call) GIVES(DINRAIL_OK, call)

static int same(dinrail_str s, const char *text) {
    return s.size == strlen(text) && memcmp(s.data, text, s.size) == 0;
}

static dinrail_device device;

static void registry(void) {
    dinrail_backend backend, again;
    dinrail_device other;
    dinrail_device_props props;
    const dinrail_device none = {{NULL, NULL}};
    const dinrail_backend nobody = {{NULL, NULL}};
    EXPECT(dinrail_version() == DINRAIL_VERSION);
    EXPECT(dinrail_build().size > 5);
    size_t devices = 0;
    for (size_t i = 0; i < dinrail_backend_count(); i++) {
        char name[64] = {0};
        OK(dinrail_backend_at(i, &backend, &E));
        dinrail_str s = dinrail_backend_name(backend);
        EXPECT(s.size > 0 && s.size < sizeof name);
        memcpy(name, s.data, s.size);
        OK(dinrail_backend_by_name(name, &again, &E));
        EXPECT(same(dinrail_backend_name(again), name));
        for (size_t k = 0; k < dinrail_backend_device_count(backend); k++)
            if (dinrail_backend_device(backend, k, &other, &E) == DINRAIL_OK) devices++;
        GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_backend_device(backend, 1000, &other, &E));
    }
    EXPECT(devices == dinrail_device_count());
    /* Whatever was compiled in is there, however it was linked. */
    dinrail_str build = dinrail_build();
    size_t named = 0;
    for (size_t at = 0, end; at < build.size; at = end + 1) {
        char word[32] = {0};
        for (end = at; end < build.size && build.data[end] != ' ';) end++;
        if (end - at < sizeof word) memcpy(word, build.data + at, end - at);
        if (at == 0 || strcmp(word, "std") == 0 || strcmp(word, "dynamic") == 0) continue;
        OK(dinrail_backend_by_name(word, &again, &E));
        named++;
    }
    EXPECT(named == dinrail_backend_count() && named > 0);
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_backend_at(SIZE_MAX, &backend, &E));
    EXPECT(memcmp(&backend, &nobody, sizeof backend) == 0);
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_backend_by_name("nobody", &backend, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_backend_by_name(NULL, &backend, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_backend_at(0, NULL, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_backend_at(0, NULL, NULL));
    GIVES(DINRAIL_ERROR_NOT_UTF8, dinrail_backend_by_name("\xff\xfe", &backend, &E));
    /* After any mistake there is nothing in `out`, and not what was there before. */
    memset(&other, 0x5A, sizeof other);
    GIVES(DINRAIL_ERROR_NULL, dinrail_device_by_name(NULL, &other, &E));
    EXPECT(memcmp(&other, &none, sizeof none) == 0);
    memset(&other, 0x5A, sizeof other);
    GIVES(DINRAIL_ERROR_INVALID, dinrail_device_by_kind(99, &other, &E));
    EXPECT(memcmp(&other, &none, sizeof none) == 0);
    memset(&other, 0x5A, sizeof other);
    GIVES(DINRAIL_ERROR_NULL, dinrail_backend_device(nobody, 0, &other, &E));
    EXPECT(memcmp(&other, &none, sizeof none) == 0);
    EXPECT(dinrail_backend_name(nobody).size == 0);
    EXPECT(dinrail_backend_device_count(nobody) == 0);
    GIVES(DINRAIL_ERROR_NULL, dinrail_backend_device(nobody, 0, &other, &E));
    OK(dinrail_device_at(0, &other, &E));
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_device_at(devices, &other, &E));
    EXPECT(memcmp(&other, &none, sizeof none) == 0);
    OK(dinrail_device_by_kind(DINRAIL_DEVICE_CPU, &other, &E));
    GIVES(DINRAIL_ERROR_INVALID, dinrail_device_by_kind(77, &other, &E));
    EXPECT(E.numbers[0] == 77);
    OK(dinrail_device_best(&other, &E));
    OK(dinrail_device_get_props(device, &props, &E));
    EXPECT(props.name.size > 0 && props.description.size > 0 && props.kind <= DINRAIL_DEVICE_META);
    EXPECT(props.memory_total >= props.memory_free);
    GIVES(DINRAIL_ERROR_NULL, dinrail_device_get_props(none, &props, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_device_get_props(device, NULL, &E));

    dinrail_buffer_type type = dinrail_device_buffer_type(device), nothing = dinrail_device_buffer_type(none);
    dinrail_buffer_type_props memory;
    OK(dinrail_buffer_type_get_props(type, &memory, &E));
    EXPECT(memory.alignment > 0 && (memory.alignment & (memory.alignment - 1)) == 0);
    GIVES(DINRAIL_ERROR_NULL, dinrail_buffer_type_get_props(nothing, &memory, &E));
    EXPECT(dinrail_device_supports_buffer_type(device, type));
    EXPECT(!dinrail_device_supports_buffer_type(device, nothing) && !dinrail_device_supports_buffer_type(none, type));
    nothing = dinrail_device_extra_buffer_type(device, 1000);
    EXPECT(nothing.words_[0] == NULL);
    nothing = dinrail_device_host_buffer_type(none);
    EXPECT(nothing.words_[0] == NULL);
}

static void errors(void) {
    char text[8];
    dinrail_backend b;
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_backend_by_name("nobody", &b, &E));
    memset(text, '#', sizeof text);
    size_t whole = dinrail_error_text(&E, text, 5);
    EXPECT(whole > 5 && text[4] == 0 && text[5] == '#' && strlen(text) == 4);
    EXPECT(dinrail_error_text(&E, NULL, 0) == whole && dinrail_error_text(&E, NULL, 100) == whole);
    EXPECT(dinrail_error_text(NULL, text, sizeof text) > 0);
    dinrail_error made_up;
    memset(&made_up, 0x5A, sizeof made_up);
    EXPECT(dinrail_error_text(&made_up, text, sizeof text) > 0);
    memset(&made_up, 0, sizeof made_up);
    EXPECT(dinrail_error_text(&made_up, text, sizeof text) == strlen("no error"));
    EXPECT(strcmp(dinrail_status_name(DINRAIL_ERROR_FULL), "DINRAIL_ERROR_FULL") == 0);
    EXPECT(dinrail_status_name(-12345) != NULL);
}

static void buffers(void) {
    dinrail_buffer a = {0}, copy, flash = {0};
    dinrail_buffer_type type = dinrail_device_buffer_type(device);
    const dinrail_device none = {{NULL, NULL}};
    unsigned char bytes[16] = {1, 2, 3}, back[16];
    EXPECT(dinrail_buffer_size(&a) == 0 && dinrail_buffer_data(&a) == NULL && !dinrail_buffer_is_writable(&a));
    GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_buffer_write(&a, 0, bytes, 1, &E));
    OK(dinrail_buffer_alloc(&a, type, 256, &E));
    EXPECT(dinrail_buffer_size(&a) == 256 && dinrail_buffer_is_writable(&a));
    GIVES(DINRAIL_ERROR_ALREADY_OPEN, dinrail_buffer_alloc(&a, type, 256, &E));
    memcpy(&copy, &a, sizeof a);
    GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_buffer_clear(&copy, 0, &E));
    dinrail_buffer_close(&copy);
    OK(dinrail_buffer_set_usage(&a, DINRAIL_USAGE_WEIGHTS, &E));
    GIVES(DINRAIL_ERROR_INVALID, dinrail_buffer_set_usage(&a, 9, &E));
    OK(dinrail_buffer_clear(&a, 7, &E));
    OK(dinrail_buffer_write(&a, 240, bytes, 16, &E));
    OK(dinrail_buffer_read(&a, 239, back, 16, &E));
    EXPECT(back[0] == 7 && back[1] == 1 && back[3] == 3);
    GIVES(DINRAIL_ERROR_RANGE, dinrail_buffer_write(&a, 241, bytes, 16, &E));
    EXPECT(E.numbers[0] == 241 && E.numbers[1] == 16 && E.numbers[2] == 256);
    GIVES(DINRAIL_ERROR_RANGE, dinrail_buffer_read(&a, SIZE_MAX, back, 16, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_buffer_write(&a, 0, NULL, 16, &E));
    GIVES(DINRAIL_ERROR_SIZE, dinrail_buffer_write(&a, 0, bytes, SIZE_MAX, &E));
    OK(dinrail_buffer_write(&a, 0, NULL, 0, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_buffer_write(NULL, 0, bytes, 16, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_buffer_write(NULL, 0, bytes, 16, NULL));
    dinrail_buffer_close(&a);
    dinrail_buffer_close(&a);
    dinrail_buffer_close(NULL);
    GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_buffer_read(&a, 0, back, 1, &E));
    OK(dinrail_buffer_alloc(&a, type, 0, &E));
    OK(dinrail_buffer_clear(&a, 1, &E));
    dinrail_buffer_close(&a);
    dinrail_status huge = dinrail_buffer_alloc(&a, type, SIZE_MAX / 2 - 4096, &E);
    EXPECT(huge == DINRAIL_ERROR_OUT_OF_MEMORY || huge == DINRAIL_ERROR_FULL);
    GIVES(DINRAIL_ERROR_NULL, dinrail_buffer_lend(&a, none, bytes, sizeof bytes, &E));
    dinrail_buffer_type_props props;
    OK(dinrail_buffer_type_get_props(type, &props, &E));
    if (props.is_host) {
        OK(dinrail_buffer_lend(&a, device, bytes, sizeof bytes, &E));
        EXPECT(dinrail_buffer_data(&a) == bytes);
        OK(dinrail_buffer_clear(&a, 9, &E));
        EXPECT(bytes[0] == 9 && bytes[15] == 9);
        GIVES(DINRAIL_ERROR_INVALID, dinrail_buffer_write(&a, 0, bytes + 3, 8, &E));
        GIVES(DINRAIL_ERROR_INVALID, dinrail_buffer_read(&a, 3, bytes, 8, &E));
        OK(dinrail_buffer_write(&a, 0, bytes + 8, 8, &E));
        dinrail_buffer_close(&a);
        OK(dinrail_buffer_lend(&a, device, NULL, 0, &E));
        EXPECT(dinrail_buffer_data(&a) == NULL && dinrail_buffer_size(&a) == 0);
        dinrail_buffer_close(&a);
        OK(dinrail_buffer_lend_const(&flash, device, bytes, sizeof bytes, 0, &E));
        GIVES(DINRAIL_ERROR_READ_ONLY, dinrail_buffer_write(&flash, 0, back, 1, &E));
        GIVES(DINRAIL_ERROR_READ_ONLY, dinrail_buffer_clear(&flash, 1, &E));
        EXPECT(!dinrail_buffer_is_writable(&flash));
        dinrail_buffer_close(&flash);
    }
}

enum { N = 16 };

static void graphs(void) {
    dinrail_graph g = {0}, copy;
    dinrail_node nodes[N];
    dinrail_desc desc;
    GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_graph_finish(&g, &E));
    EXPECT(dinrail_graph_input(&g, DINRAIL_F32, 4, 1, 1, 1) == DINRAIL_NONE);
    EXPECT(dinrail_graph_input(NULL, DINRAIL_F32, 4, 1, 1, 1) == DINRAIL_NONE);
    GIVES(DINRAIL_ERROR_NULL, dinrail_graph_begin(&g, NULL, 4, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_graph_begin(NULL, nodes, 4, &E));
    GIVES(DINRAIL_ERROR_MISALIGNED, dinrail_graph_begin(&g, (dinrail_node *)(void *)((char *)nodes + 1), 4, &E));
    GIVES(DINRAIL_ERROR_SIZE, dinrail_graph_begin(&g, nodes, SIZE_MAX / 4, &E));
    /* The first mistake is the one that is told. */
    OK(dinrail_graph_begin(&g, nodes, N, &E));
    dinrail_id x = dinrail_graph_input(&g, DINRAIL_F32, 4, 2, 1, 1);
    dinrail_id w = dinrail_graph_weight(&g, DINRAIL_F32, 5, 3, 1, 1, 1, 0);
    EXPECT(x == 0 && w == 1 && dinrail_graph_len(&g) == 2);
    OK(dinrail_graph_desc(&g, w, &desc, &E));
    EXPECT(desc.ne[0] == 5 && desc.ne[1] == 3 && desc.nb[1] == 20 && desc.bytes == 60 && desc.dtype == DINRAIL_F32);
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_graph_desc(&g, 2, &desc, &E));
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_graph_desc(&g, DINRAIL_NONE, &desc, &E));
    EXPECT(dinrail_op_mul_mat(&g, w, x, false) == DINRAIL_NONE);
    EXPECT(dinrail_op_relu(&g, x) == DINRAIL_NONE);
    GIVES(DINRAIL_ERROR_NODE, dinrail_graph_desc(&g, w, &desc, &E));
    GIVES(DINRAIL_ERROR_NODE, dinrail_graph_finish(&g, &E));
    EXPECT(E.numbers[0] == 2);
    GIVES(DINRAIL_ERROR_UNFINISHED, dinrail_graph_finish(&g, &E));
    EXPECT(dinrail_graph_len(&g) == 0 && dinrail_graph_op(&g, 0).size == 0);
    /* Numbers that no enumeration has. */
    const struct { int what; dinrail_status status; } wrong[] = {
        {0, DINRAIL_ERROR_INVALID}, {1, DINRAIL_ERROR_INVALID}, {2, DINRAIL_ERROR_INVALID}, {3, DINRAIL_ERROR_INVALID},
        {4, DINRAIL_ERROR_INVALID}, {5, DINRAIL_ERROR_INVALID}, {6, DINRAIL_ERROR_NODE}, {7, DINRAIL_ERROR_NODE},
        {8, DINRAIL_ERROR_INVALID}, {9, DINRAIL_ERROR_NODE}, {10, DINRAIL_ERROR_INVALID}, {11, DINRAIL_ERROR_INVALID},
        {12, DINRAIL_ERROR_INVALID}, {13, DINRAIL_ERROR_NODE}, {14, DINRAIL_ERROR_NODE}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        dinrail_rope rope = DINRAIL_ROPE_INIT(4, DINRAIL_ROPE_NORMAL, 10000.0f);
        OK(dinrail_graph_begin(&g, nodes, N, &E));
        x = dinrail_graph_input(&g, DINRAIL_F32, 4, 2, 1, 1);
        switch (wrong[i].what) {
        case 0: dinrail_graph_input(&g, 4, 4, 1, 1, 1); break;
        case 1: dinrail_op_unary(&g, x, 99); break;
        case 2: dinrail_op_glu(&g, x, DINRAIL_NONE, 99, false); break;
        case 3: dinrail_op_rope(&g, x, x, DINRAIL_NONE, NULL); break;
        case 4: rope.mode = 1; dinrail_op_rope(&g, x, x, DINRAIL_NONE, &rope); break;
        case 5: rope.dims = 65536; dinrail_op_rope(&g, x, x, DINRAIL_NONE, &rope); break;
        case 6: dinrail_op_relu(&g, 65536); break;
        case 7: dinrail_op_relu(&g, DINRAIL_NONE); break;
        case 8: dinrail_graph_output(&g, 12); break;
        case 9: dinrail_graph_input(&g, DINRAIL_F32, SIZE_MAX, SIZE_MAX, 1, 1); break;
        /* Numbers whose lowest byte would do. */
        case 10: dinrail_graph_leaf(&g, DINRAIL_F32, 4, 1, 1, 1, 256 + 1, 0); break;
        case 11: dinrail_graph_weight(&g, DINRAIL_F32, 4, 1, 1, 1, 0, 0); break;
        case 12: dinrail_graph_leaf(&g, DINRAIL_F32, 4, 1, 1, 1, 200, 0); break;
        case 13: dinrail_op_concat(&g, x, x, 256 + 1); break;
        case 14: dinrail_op_permute(&g, x, 256 + 1, 256, 2, 3); break;
        }
        GIVES(wrong[i].status, dinrail_graph_finish(&g, &E));
    }
    /* Exactly full, and one more. */
    OK(dinrail_graph_begin(&g, nodes, 2, &E));
    x = dinrail_graph_input(&g, DINRAIL_F32, 4, 1, 1, 1);
    x = dinrail_op_silu(&g, x);
    OK(dinrail_graph_finish(&g, &E));
    EXPECT(same(dinrail_graph_op(&g, 1), "SILU") && dinrail_graph_op(&g, 2).size == 0);
    EXPECT(dinrail_device_supports(device, &g, 1) && !dinrail_device_supports(device, &g, 2));
    EXPECT(dinrail_op_silu(&g, x) == DINRAIL_NONE);
    memcpy(&copy, &g, sizeof g);
    GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_graph_finish(&copy, &E));
    OK(dinrail_graph_begin(&g, nodes, 1, &E));
    x = dinrail_graph_input(&g, DINRAIL_F32, 4, 1, 1, 1);
    dinrail_op_silu(&g, x);
    GIVES(DINRAIL_ERROR_FULL, dinrail_graph_finish(&g, &E));
    EXPECT(E.numbers[0] == 2 && E.numbers[1] == 1);
    OK(dinrail_graph_begin(&g, NULL, 0, &E));
    OK(dinrail_graph_finish(&g, &E));
    EXPECT(same(dinrail_dtype_name(DINRAIL_Q4_0), "q4_0") && dinrail_dtype_name(4).size == 0);
    EXPECT(dinrail_dtype_block_len(DINRAIL_Q8_0) == 32 && dinrail_dtype_block_bytes(DINRAIL_Q8_0) == 34);
    EXPECT(dinrail_dtype_block_len(1000) == 0 && dinrail_dtype_block_bytes(1000) == 0);
}

/* Queued: the input of one program, and its result, which is the input of the other one (of a second stream). `x` has 8
 * numbers and `y` is (x + 1) * k with k of 1, 10, 100 and 1000. */
static void queued(dinrail_stream *s, dinrail_program *p, dinrail_id x, dinrail_id y, dinrail_program *q) {
    static const float in[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static float first[8], second[8];
    dinrail_stream t = {0};
    GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_stream_set(&t, p, x, 0, in, sizeof in, &E));
    OK(dinrail_stream_open(&t, device, NULL, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_stream_set(NULL, p, x, 0, in, 4, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_stream_set(s, p, x, 0, NULL, 4, &E));
    GIVES(DINRAIL_ERROR_RANGE, dinrail_stream_set(s, p, x, 4, in, sizeof in, &E));
    GIVES(DINRAIL_ERROR_RANGE, dinrail_stream_set(s, p, x, SIZE_MAX, in, 4, &E));
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_stream_set(s, p, 99, 0, in, 4, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_stream_get(s, NULL, y, 0, first, 4, &E));
    GIVES(DINRAIL_ERROR_RANGE, dinrail_stream_get(s, p, y, 32, first, 4, &E));
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_stream_get(s, p, DINRAIL_NONE, 0, first, 4, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_stream_copy(&t, q, x, s, NULL, y, &E));
    GIVES(DINRAIL_ERROR_INVALID, dinrail_stream_copy(&t, q, x, s, p, y + 1, &E)); /* A sum: one number. */

    OK(dinrail_stream_set(s, p, x, 0, in, 16, &E));
    OK(dinrail_stream_set(s, p, x, 16, in + 4, 16, &E));
    OK(dinrail_stream_compute(s, p, &E));
    OK(dinrail_stream_get(s, p, y, 0, first, sizeof first, &E));
    OK(dinrail_stream_copy(&t, q, x, s, p, y, &E));
    OK(dinrail_stream_compute(&t, q, &E));
    OK(dinrail_stream_get(&t, q, y, 4, second + 1, sizeof second - 4, &E));
    OK(dinrail_stream_wait(s, &E));
    OK(dinrail_stream_wait(&t, &E));
    EXPECT(first[0] == 2 && first[1] == 30 && first[3] == 5000 && first[4] == 6 && first[7] == 9000);
    EXPECT(second[0] == 0 && second[1] == 310 && second[3] == 5001000 && second[4] == 7 && second[7] == 9001000);
    dinrail_stream_close(&t);
}

static void computing(void) {
    dinrail_stream s = {0};
    dinrail_stream_params params = {1, NULL};
    dinrail_graph g = {0};
    dinrail_node nodes[N];
    dinrail_place places[N];
    dinrail_work work[N];
    dinrail_plan plan = {0};
    dinrail_plan_options options = DINRAIL_PLAN_OPTIONS_INIT;
    dinrail_plan_summary summary;
    dinrail_buffer arena = {0}, weights = {0};
    dinrail_program p = {0};
    dinrail_run run = {0};
    dinrail_event event = {0};
    dinrail_prepared prepared = {0};
    const dinrail_device none = {{NULL, NULL}};
    float in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, w[4] = {1, 10, 100, 1000}, out[8];
    bool done = false;

    GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_stream_wait(&s, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_stream_open(&s, none, NULL, &E));
    params.text = "\xff";
    GIVES(DINRAIL_ERROR_NOT_UTF8, dinrail_stream_open(&s, device, &params, &E));
    params.text = NULL;
    OK(dinrail_stream_open(&s, device, &params, &E));
    GIVES(DINRAIL_ERROR_ALREADY_OPEN, dinrail_stream_open(&s, device, &params, &E));
    dinrail_device_props mine, theirs;
    OK(dinrail_device_get_props(dinrail_stream_device(&s), &mine, &E));
    OK(dinrail_device_get_props(device, &theirs, &E));
    EXPECT(mine.name.size == theirs.name.size && memcmp(mine.name.data, theirs.name.data, mine.name.size) == 0);

    OK(dinrail_graph_begin(&g, nodes, N, &E));
    dinrail_id x = dinrail_graph_input(&g, DINRAIL_F32, 4, 2, 1, 1);
    dinrail_id k = dinrail_graph_weight(&g, DINRAIL_F32, 4, 1, 1, 1, 1, 64);
    dinrail_id y = dinrail_op_add(&g, dinrail_op_mul(&g, x, k), k);
    dinrail_id z = dinrail_op_sum(&g, y);
    dinrail_graph_output(&g, y);
    dinrail_graph_output(&g, z);
    GIVES(DINRAIL_ERROR_UNFINISHED, dinrail_plan_make(&plan, &g, NULL, places, work, N, &E));
    GIVES(DINRAIL_ERROR_UNFINISHED, dinrail_stream_scratch(&s, &g, &options.scratch, &E));
    OK(dinrail_graph_finish(&g, &E));
    OK(dinrail_stream_scratch(&s, &g, &options.scratch, &E));
    size_t len = dinrail_graph_len(&g);
    GIVES(DINRAIL_ERROR_FULL, dinrail_plan_make(&plan, &g, &options, places, work, len - 1, &E));
    EXPECT(E.numbers[0] == (int64_t)len && E.numbers[1] == (int64_t)len - 1);
    GIVES(DINRAIL_ERROR_NULL, dinrail_plan_make(&plan, &g, &options, NULL, work, len, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_plan_make(&plan, &g, &options, places, NULL, len, &E));
    options.align = 3;
    GIVES(DINRAIL_ERROR_SIZE, dinrail_plan_make(&plan, &g, &options, places, work, len, &E));
    GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_plan_get_summary(&plan, &summary, &E));
    options.align = 64;
    OK(dinrail_plan_make(&plan, &g, &options, places, work, len, &E));
    OK(dinrail_plan_get_summary(&plan, &summary, &E));
    EXPECT(summary.arena == dinrail_plan_arena(&plan) && summary.arena >= summary.peak && summary.align == 64);
    EXPECT(summary.peak >= summary.lower_bound && dinrail_plan_arena(NULL) == 0);

    dinrail_buffer_type type = dinrail_device_buffer_type(device);
    OK(dinrail_buffer_alloc(&weights, type, 64 + sizeof w, &E));
    OK(dinrail_buffer_write(&weights, 64, w, sizeof w, &E));
    OK(dinrail_buffer_alloc(&arena, type, summary.arena, &E));
    dinrail_binding slots[2] = {{&arena, 0}, {&weights, 0}};
    GIVES(DINRAIL_ERROR_UNBOUND, dinrail_program_make(&p, &g, &plan, slots, 1, &E));
    EXPECT(E.numbers[0] == (int64_t)k && E.numbers[1] == 1);
    GIVES(DINRAIL_ERROR_UNBOUND, dinrail_program_make(&p, &g, &plan, NULL, 0, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_program_make(&p, &g, &plan, NULL, 2, &E));
    slots[0].offset = 64;
    GIVES(DINRAIL_ERROR_FULL, dinrail_program_make(&p, &g, &plan, slots, 2, &E));
    slots[0].offset = SIZE_MAX;
    GIVES(DINRAIL_ERROR_FULL, dinrail_program_make(&p, &g, &plan, slots, 2, &E));
    slots[0].offset = 0;
    slots[1].offset = 4;
    GIVES(DINRAIL_ERROR_RANGE, dinrail_program_make(&p, &g, &plan, slots, 2, &E));
    slots[1].offset = 0;
    dinrail_buffer closed = {0};
    slots[1].buffer = &closed;
    GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_program_make(&p, &g, &plan, slots, 2, &E));
    slots[1].buffer = NULL;
    GIVES(DINRAIL_ERROR_UNBOUND, dinrail_program_make(&p, &g, &plan, slots, 2, &E));
    slots[1].buffer = &weights;
    GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_stream_compute(&s, &p, &E));
    OK(dinrail_program_make(&p, &g, &plan, slots, 2, &E));

    OK(dinrail_program_set(&p, x, 0, in, 16, &E));
    OK(dinrail_program_set(&p, x, 16, in + 4, 16, &E));
    GIVES(DINRAIL_ERROR_RANGE, dinrail_program_set(&p, x, 4, in, sizeof in, &E));
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_program_set(&p, 99, 0, in, 4, &E));
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_program_get(&p, DINRAIL_NONE, 0, out, 4, &E));
    OK(dinrail_stream_compute(&s, &p, &E));
    OK(dinrail_stream_wait(&s, &E));
    OK(dinrail_program_get(&p, y, 0, out, sizeof out, &E));
    EXPECT(out[0] == 2 && out[1] == 30 && out[3] == 5000 && out[4] == 6 && out[7] == 9000);
    OK(dinrail_program_get(&p, z, 0, out, 4, &E));
    EXPECT(out[0] == 2 + 30 + 400 + 5000 + 6 + 70 + 800 + 9000);
    GIVES(DINRAIL_ERROR_NULL, dinrail_program_get(&p, z, 0, NULL, 4, &E));

    /* Columns 0 and 2 of both rows. */
    dinrail_rows rows = {4, 2, 8, 4};
    OK(dinrail_program_get_rows(&p, y, 0, rows, out, &E));
    EXPECT(out[0] == 2 && out[1] == 400);
    float two[2] = {0, 0};
    OK(dinrail_program_set_rows(&p, x, 0, rows, two, &E));
    /* Rows without bytes, and rows without end. */
    dinrail_rows empty = {0, SIZE_MAX, 0, 0}, endless = {4, SIZE_MAX, 0, 0};
    OK(dinrail_program_get_rows(&p, y, 0, empty, out, &E));
    OK(dinrail_program_set_rows(&p, x, 0, empty, two, &E));
    GIVES(DINRAIL_ERROR_INVALID, dinrail_program_get_rows(&p, y, 0, endless, out, &E));
    GIVES(DINRAIL_ERROR_INVALID, dinrail_program_set_rows(&p, x, 0, endless, two, &E));
    rows.stride = SIZE_MAX;
    GIVES(DINRAIL_ERROR_SIZE, dinrail_program_get_rows(&p, y, 0, rows, out, &E));
    rows.host_stride = SIZE_MAX;
    GIVES(DINRAIL_ERROR_SIZE, dinrail_program_set_rows(&p, x, 0, rows, two, &E));

    /* In steps; inputs are written anew. */
    OK(dinrail_program_set(&p, x, 0, in, sizeof in, &E));
    GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_run_poll(&run, &done, &E));
    OK(dinrail_run_begin(&run, &s, &p, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_run_poll(&run, NULL, &E));
    int steps = 0;
    while (!done && steps < 100) {
        OK(dinrail_run_poll(&run, &done, &E));
        steps++;
    }
    OK(dinrail_program_get(&p, z, 0, out, 4, &E));
    EXPECT(steps < 100 && out[0] == 15308);
    OK(dinrail_program_set(&p, x, 0, in, sizeof in, &E));
    OK(dinrail_run_begin(&run, &s, &p, &E));
    OK(dinrail_run_wait(&run, &E));
    OK(dinrail_program_get(&p, z, 0, out, 4, &E));
    EXPECT(out[0] == 15308);
    if (dinrail_buffer_data(&arena) != NULL) {
        const float *at = dinrail_program_data(&p, z);
        EXPECT(at != NULL && *at == 15308);
    }
    EXPECT(dinrail_program_data(&p, 99) == NULL && dinrail_program_data(NULL, 0) == NULL);

    dinrail_buffer second = {0};
    dinrail_program q = {0};
    OK(dinrail_buffer_alloc(&second, type, summary.arena, &E));
    dinrail_binding others[2] = {{&second, 0}, {&weights, 0}};
    OK(dinrail_program_make(&q, &g, &plan, others, 2, &E));
    queued(&s, &p, x, y, &q);
    dinrail_buffer_close(&second);

    dinrail_device_props props;
    OK(dinrail_device_get_props(device, &props, &E));
    if (props.caps & DINRAIL_CAP_EVENTS) {
        OK(dinrail_event_open(&event, device, &E));
        OK(dinrail_stream_record(&s, &event, &E));
        OK(dinrail_stream_wait_event(&s, &event, &E));
        OK(dinrail_event_wait(&event, &E));
    } else {
        GIVES(DINRAIL_ERROR_NOT_OFFERED, dinrail_event_open(&event, device, &E));
        GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_event_wait(&event, &E));
        GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_stream_record(&s, &event, &E));
        GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_stream_wait_event(&s, &event, &E));
    }
    dinrail_event_close(&event);
    dinrail_status status = dinrail_prepared_open(&prepared, &s, &p, &E);
    EXPECT(status == DINRAIL_OK || status == DINRAIL_ERROR_NOT_OFFERED);
    if (status == DINRAIL_OK) OK(dinrail_prepared_compute(&prepared, &E));
    else GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_prepared_compute(&prepared, &E));
    OK(dinrail_stream_wait(&s, &E));
    dinrail_prepared_close(&prepared);

    dinrail_buffer_close(&arena);
    dinrail_buffer_close(&weights);
    dinrail_stream_close(&s);
    dinrail_stream_close(&s);
    dinrail_stream_close(NULL);
    GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_stream_compute(&s, &p, &E));
}

/* What a program was made of is closed, changed or taken from under it. */
static void undermined(void) {
    dinrail_stream s = {0};
    dinrail_graph g = {0}, other = {0};
    dinrail_node nodes[2], more[2];
    dinrail_place places[2];
    dinrail_work work[2];
    dinrail_plan plan = {0};
    dinrail_plan_options options = DINRAIL_PLAN_OPTIONS_INIT;
    dinrail_buffer arena = {0};
    dinrail_program p = {0};
    dinrail_run run = {0};
    dinrail_prepared prepared = {0};
    float in[4] = {1, 2, 3, 4}, out[4];
    bool done;
    dinrail_buffer_type type = dinrail_device_buffer_type(device);
    OK(dinrail_stream_open(&s, device, NULL, &E));
    for (int i = 0; i < 2; i++) {
        dinrail_graph *it = i == 0 ? &g : &other;
        OK(dinrail_graph_begin(it, i == 0 ? nodes : more, 2, &E));
        dinrail_graph_output(it, dinrail_op_scale(it, dinrail_graph_input(it, DINRAIL_F32, i == 0 ? 4 : 400, 1, 1, 1), 2, 0));
        OK(dinrail_graph_finish(it, &E));
    }
    /* A `bool` that nobody set. */
    memset(&options, 0x5A, sizeof options);
    options.align = 64;
    OK(dinrail_stream_scratch(&s, &g, &options.scratch, &E));
    OK(dinrail_plan_make(&plan, &g, &options, places, work, 2, &E));
    size_t need = dinrail_plan_arena(&plan);
    OK(dinrail_buffer_alloc(&arena, type, need + 100000, &E));
    dinrail_binding slots[1] = {{&arena, 0}};
    /* Of as many nodes, but not the graph that was planned. */
    GIVES(DINRAIL_ERROR_MISMATCH, dinrail_program_make(&p, &other, &plan, slots, 1, &E));
    for (int how = 0; how < 6; how++) {
        dinrail_status want = how == 0 ? DINRAIL_ERROR_NOT_OPEN : DINRAIL_ERROR_STALE;
        OK(dinrail_program_make(&p, &g, &plan, slots, 1, &E));
        OK(dinrail_program_set(&p, 0, 0, in, sizeof in, &E));
        OK(dinrail_run_begin(&run, &s, &p, &E));
        dinrail_status status = dinrail_prepared_open(&prepared, &s, &p, &E);
        EXPECT(status == DINRAIL_OK || status == DINRAIL_ERROR_NOT_OFFERED);
        switch (how) {
        case 0: dinrail_buffer_close(&arena); break;
        case 1:
            dinrail_buffer_close(&arena);
            OK(dinrail_buffer_alloc(&arena, type, 64, &E));
            break;
        case 2: slots[0].buffer = (const dinrail_buffer *)(uintptr_t)64; break;
        case 3:
            OK(dinrail_graph_begin(&g, nodes, 2, &E));
            dinrail_graph_output(&g, dinrail_op_scale(&g, dinrail_graph_input(&g, DINRAIL_F32, 9999, 1, 1, 1), 2, 0));
            OK(dinrail_graph_finish(&g, &E));
            break;
        case 4: dinrail_stream_close(&s); want = DINRAIL_ERROR_NOT_OPEN; break;
        case 5: OK(dinrail_program_make(&p, &g, &plan, slots, 1, &E)); break;
        }
        if (how != 5) GIVES(want, dinrail_stream_compute(&s, &p, &E));
        if (how < 3) {
            GIVES(want, dinrail_program_set(&p, 0, 0, in, sizeof in, &E));
            GIVES(want, dinrail_program_get(&p, 1, 0, out, sizeof out, &E));
            EXPECT(dinrail_program_data(&p, 1) == NULL);
        }
        if (how != 3) {
            GIVES(want, dinrail_run_poll(&run, &done, &E));
            EXPECT(done);
            GIVES(want, dinrail_run_wait(&run, &E));
            if (status == DINRAIL_OK) GIVES(want, dinrail_prepared_compute(&prepared, &E));
        } else {
            OK(dinrail_graph_begin(&g, nodes, 2, &E));
            dinrail_graph_output(&g, dinrail_op_scale(&g, dinrail_graph_input(&g, DINRAIL_F32, 4, 1, 1, 1), 2, 0));
            OK(dinrail_graph_finish(&g, &E));
        }
        dinrail_prepared_close(&prepared);
        slots[0].buffer = &arena;
        dinrail_buffer_close(&arena);
        OK(dinrail_buffer_alloc(&arena, type, need, &E));
        if (how == 4) OK(dinrail_stream_open(&s, device, NULL, &E));
    }
    OK(dinrail_program_make(&p, &g, &plan, slots, 1, &E));
    float *x = dinrail_program_data(&p, 0);
    dinrail_rows rows = {4, 2, 8, 8};
    if (x != NULL) {
        OK(dinrail_program_set(&p, 0, 0, in, sizeof in, &E));
        GIVES(DINRAIL_ERROR_INVALID, dinrail_program_set(&p, 0, 0, x + 1, 12, &E));
        GIVES(DINRAIL_ERROR_INVALID, dinrail_program_get(&p, 0, 4, x, 12, &E));
        GIVES(DINRAIL_ERROR_INVALID, dinrail_program_set_rows(&p, 0, 0, rows, x, &E));
        /* Columns into their neighbours. */
        OK(dinrail_program_set_rows(&p, 0, 0, rows, x + 1, &E));
        EXPECT(x[0] == 2 && x[1] == 2 && x[2] == 4 && x[3] == 4);
    }
    dinrail_buffer_close(&arena);
    dinrail_stream_close(&s);
}

/* A child process opens streams of its own. */
static void forked(void) {
    dinrail_stream s = {0};
    int how = -1;
    OK(dinrail_stream_open(&s, device, NULL, &E));
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        dinrail_status status = dinrail_stream_wait(&s, &E);
        dinrail_stream_close(&s);
        if (status == DINRAIL_ERROR_STALE && dinrail_stream_open(&s, device, NULL, &E) == DINRAIL_OK) {
            status = dinrail_stream_wait(&s, &E);
            dinrail_stream_close(&s);
            /* Another program: what belongs to the parent's threads can't be freed here, and is no leak to report. */
            if (status == DINRAIL_OK) execlp("true", "true", (char *)NULL);
        }
        _exit(77);
    }
    EXPECT(child > 0 && waitpid(child, &how, 0) == child && how == 0);
    OK(dinrail_stream_wait(&s, &E));
    dinrail_stream_close(&s);
}

static void models(const char *path) {
    dinrail_file file = {0};
    dinrail_gguf m = {0};
    dinrail_gguf_tensor t;
    dinrail_gguf_value v;
    dinrail_str key;
    size_t size;
    GIVES(DINRAIL_ERROR_SYSTEM, dinrail_file_map(&file, "/nowhere/at/all", &E));
    EXPECT(dinrail_file_data(&file, &size) == NULL && size == 0);
    GIVES(DINRAIL_ERROR_SYSTEM, dinrail_file_map(&file, "/", &E));
    char said[64];
    dinrail_error_text(&E, said, sizeof said);
    EXPECT(strstr(said, "directory") != NULL);
    OK(dinrail_file_map(&file, path, &E));
    GIVES(DINRAIL_ERROR_ALREADY_OPEN, dinrail_file_map(&file, path, &E));
    const unsigned char *data = dinrail_file_data(&file, &size);
    EXPECT(data != NULL && size > 1000);
    GIVES(DINRAIL_ERROR_NOT_OPEN, dinrail_gguf_find_tensor(&m, "x", &t, &E));
    EXPECT(dinrail_gguf_tensor_count(&m) == 0 && dinrail_gguf_key_count(NULL) == 0);
    /* Cut off at many places: never a crash, and an error from the first byte to the last. */
    for (size_t n = 0; n < size; n += n < 4096 ? 1 : 977) {
        unsigned char *part = malloc(n > 0 ? n : 1);
        memcpy(part, data, n);
        EXPECT(dinrail_gguf_open(&m, part, n, NULL, 0, &E) == DINRAIL_ERROR_GGUF);
        free(part);
    }
    /* At an odd address, with scratch memory. */
    unsigned char *odd = malloc(size + 1);
    uint32_t scratch[64];
    memcpy(odd + 1, data, size);
    OK(dinrail_gguf_open(&m, odd + 1, size, scratch, 64, &E));
    size_t tensors = dinrail_gguf_tensor_count(&m), keys = dinrail_gguf_key_count(&m);
    EXPECT(tensors == 20 && keys > 0);
    for (size_t i = 0; i < tensors; i++) {
        dinrail_gguf_tensor again;
        char name[96] = {0};
        OK(dinrail_gguf_tensor_at(&m, i, &t, &E));
        EXPECT(t.name.size < sizeof name);
        memcpy(name, t.name.data, t.name.size);
        OK(dinrail_gguf_find_tensor(&m, name, &again, &E));
        EXPECT(again.offset == t.offset && again.data == odd + 1 + t.offset && t.offset + t.size <= size);
    }
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_gguf_tensor_at(&m, tensors, &t, &E));
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_gguf_find_tensor(&m, "nothing", &t, &E));
    dinrail_error_text(&E, said, sizeof said);
    EXPECT(strstr(said, "tensor") != NULL);
    E.code = DINRAIL_ERROR_SIZE; /* the program's own */
    dinrail_error_text(&E, said, sizeof said);
    EXPECT(strstr(said, "DINRAIL_ERROR_SIZE") == said);
    for (size_t i = 0; i < keys; i++) OK(dinrail_gguf_key_at(&m, i, &key, &v, &E));
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_gguf_key_at(&m, keys, NULL, NULL, &E));
    OK(dinrail_gguf_find_value(&m, "general.architecture", &v, &E));
    EXPECT(v.value_type == DINRAIL_GGUF_STRING && same(v.bytes, "ad01"));
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_gguf_find_value(&m, "nothing", &v, &E));
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_gguf_find_element(&m, "general.architecture", 0, &v, &E));
    free(odd);
    dinrail_file_close(&file);
    dinrail_file_close(&file);
    dinrail_file_close(NULL);
}

/* A driver with kernels for ADD and SCALE of whole F32 tensors; SCALE by 13 is a failure of the device. */
static unsigned computed;
static bool can(void *user, const dinrail_task *task) {
    if (user != &computed) return false;
    if (task->dst.desc.dtype != DINRAIL_F32 || task->dst.desc.bytes != task->src[0].desc.bytes) return false;
    if (same(task->op, "SCALE")) return true;
    return same(task->op, "ADD") && task->src[1].desc.bytes == task->dst.desc.bytes;
}
static int32_t compute(void *user, const dinrail_task *task) {
    const float *a = task->src[0].data, *b = task->src[1].data;
    float *out = task->dst.data;
    EXPECT(user == &computed && a != NULL && out != NULL && task->src[2].desc.dtype == DINRAIL_NONE);
    computed++;
    for (size_t i = 0; i < task->dst.desc.bytes / sizeof(float); i++)
        out[i] = same(task->op, "ADD") ? a[i] + b[i] : a[i] * task->reals[0] + task->reals[1];
    return task->reals[0] == 13 ? -42 : 0;
}

static void drivers(void) {
    static dinrail_driver driver, second;
    static dinrail_driver_info info = {"Adder", "adds and scales", DINRAIL_DEVICE_ACCEL, can, compute, &computed};
    dinrail_driver_info wrong = info;
    dinrail_backend backend, again;
    dinrail_device adder;
    dinrail_device_props props;
    dinrail_stream s = {0};
    size_t before = dinrail_backend_count();
    GIVES(DINRAIL_ERROR_NULL, dinrail_backend_register(NULL, &info, &backend, &E));
    GIVES(DINRAIL_ERROR_NULL, dinrail_backend_register(&driver, NULL, &backend, &E));
    wrong.compute = NULL;
    GIVES(DINRAIL_ERROR_NULL, dinrail_backend_register(&driver, &wrong, &backend, &E));
    wrong = info;
    wrong.kind = 99;
    GIVES(DINRAIL_ERROR_INVALID, dinrail_backend_register(&driver, &wrong, &backend, &E));
    wrong = info;
    wrong.name = "";
    GIVES(DINRAIL_ERROR_INVALID, dinrail_backend_register(&driver, &wrong, &backend, &E));
    OK(dinrail_backend_register(&driver, &info, &backend, &E));
    OK(dinrail_backend_register(&driver, &info, &again, &E));
    OK(dinrail_backend_register(&driver, NULL, NULL, NULL));
    EXPECT(dinrail_backend_count() == before + 1 && same(dinrail_backend_name(again), "Adder"));
    wrong = info;
    wrong.name = "ADDER";
    GIVES(DINRAIL_ERROR_NAME_TAKEN, dinrail_backend_register(&second, &wrong, &backend, &E));
    OK(dinrail_backend_by_name("adder", &backend, &E));
    OK(dinrail_device_by_name("adder", &adder, &E));
    OK(dinrail_device_get_props(adder, &props, &E));
    EXPECT(same(props.description, "adds and scales") && props.kind == DINRAIL_DEVICE_ACCEL);
    dinrail_stream_params two = {2, NULL};
    GIVES(DINRAIL_ERROR_INVALID, dinrail_stream_open(&s, adder, &two, &E));
    OK(dinrail_stream_open(&s, adder, NULL, &E));
    GIVES(DINRAIL_ERROR_IN_USE, dinrail_backend_unregister(backend, &E));
    EXPECT(E.numbers[0] == 1);
    for (int round = 0; round < 3; round++) {
        dinrail_graph g = {0};
        dinrail_node nodes[N];
        dinrail_place places[N];
        dinrail_work work[N];
        dinrail_plan plan = {0};
        dinrail_buffer arena = {0};
        dinrail_program p = {0};
        dinrail_run run = {0};
        bool done = false;
        float in[4] = {1, 2, 3, 4}, out[4] = {0};
        OK(dinrail_graph_begin(&g, nodes, N, &E));
        dinrail_id x = dinrail_graph_input(&g, DINRAIL_F32, 4, 1, 1, 1);
        dinrail_id y = dinrail_op_add(&g, x, dinrail_op_scale(&g, x, round == 1 ? 13.0f : 10.0f, 1));
        if (round == 2) y = dinrail_op_sqr(&g, y);
        dinrail_graph_output(&g, y);
        OK(dinrail_graph_finish(&g, &E));
        EXPECT(dinrail_device_supports(adder, &g, 1) && dinrail_device_supports(adder, &g, y) == (round != 2));
        OK(dinrail_plan_make(&plan, &g, NULL, places, work, N, &E));
        OK(dinrail_buffer_alloc(&arena, dinrail_device_buffer_type(adder), dinrail_plan_arena(&plan), &E));
        dinrail_binding slots[1] = {{&arena, 0}};
        OK(dinrail_program_make(&p, &g, &plan, slots, 1, &E));
        OK(dinrail_program_set(&p, x, 0, in, sizeof in, &E));
        dinrail_status status = dinrail_stream_compute(&s, &p, &E);
        if (round == 0) {
            GIVES(DINRAIL_OK, status);
            OK(dinrail_program_get(&p, y, 0, out, sizeof out, &E));
            EXPECT(out[0] == 12 && out[3] == 45 && computed == 2);
            OK(dinrail_program_set(&p, x, 0, in, sizeof in, &E));
            OK(dinrail_run_begin(&run, &s, &p, &E));
            for (int steps = 0; !done && steps < 9; steps++) OK(dinrail_run_poll(&run, &done, &E));
            OK(dinrail_program_get(&p, y, 0, out, sizeof out, &E));
            EXPECT(done && out[3] == 45 && computed == 4);
        } else if (round == 1) {
            GIVES(DINRAIL_ERROR_DEVICE, status);
            EXPECT(E.numbers[0] == -42);
        } else {
            GIVES(DINRAIL_ERROR_UNSUPPORTED, status);
            EXPECT(E.numbers[0] == (int64_t)y);
        }
        dinrail_buffer_close(&arena);
    }
    dinrail_stream_close(&s);
    OK(dinrail_backend_unregister(backend, &E));
    GIVES(DINRAIL_ERROR_STALE, dinrail_backend_unregister(backend, &E));
    EXPECT(dinrail_backend_count() == before);
    GIVES(DINRAIL_ERROR_NOT_FOUND, dinrail_device_by_name("adder", &adder, &E));
    /* The same one comes back. */
    OK(dinrail_backend_register(&driver, &info, &backend, &E));
    EXPECT(dinrail_backend_count() == before + 1);
    OK(dinrail_backend_unregister(backend, &E));
    OK(dinrail_backend_at(0, &backend, &E));
    GIVES(DINRAIL_ERROR_BUILT_IN, dinrail_backend_unregister(backend, &E));
}

static int told, took;
static void hear(void *user, const dinrail_candidate *c) {
    if (user != &told || (c->path.size == 0 && c->reason.size == 0)) return;
    told++;
    took += c->taken;
    printf("%.*s: %.*s %s %.*s\n", DINRAIL_TEXT(c->path), DINRAIL_TEXT(c->name), c->taken ? "taken" : "not taken:",
           DINRAIL_TEXT(c->reason));
}

/* `library` is one of ggml's, or NULL. */
static void computing(void);
static void plugins(const char *library) {
    size_t n = 99, before = dinrail_backend_count();
    dinrail_backend backend = {{NULL, NULL}};
    dinrail_device mine = device;
    GIVES(DINRAIL_ERROR_NULL, dinrail_backend_load(NULL, hear, &told, &E));
    GIVES(DINRAIL_ERROR_NOT_UTF8, dinrail_backend_load("\xff", hear, &told, &E));
    dinrail_status status = dinrail_backend_load("/nowhere/libggml-nothing.so", hear, &told, &E);
    if (status == DINRAIL_ERROR_NOT_OFFERED) {
        GIVES(DINRAIL_ERROR_NOT_OFFERED, dinrail_backend_load_all(NULL, NULL, NULL, &n, &E));
        return;
    }
    EXPECT(status == DINRAIL_ERROR_LOAD && told > 0 && took == 0);
    GIVES(DINRAIL_ERROR_LOAD, dinrail_backend_load("/nowhere/libggml-nothing.so", NULL, NULL, NULL));
    OK(dinrail_backend_load_all("/nowhere/at/all", hear, &told, &n, &E));
    EXPECT(n == 0 && dinrail_backend_count() == before);
    if (library == NULL) return;
    OK(dinrail_backend_load(library, hear, &told, &E));
    EXPECT(took == 1);
    OK(dinrail_backend_by_name("cpu", &backend, &E));
    OK(dinrail_backend_device(backend, 0, &device, &E));
    computing();
    device = mine;
    OK(dinrail_backend_unregister(backend, &E));
    EXPECT(dinrail_backend_count() == before);
}

static unsigned messages;
static void heard(void *user, uint32_t level, const char *text, size_t size) {
    if (user == &messages && level >= DINRAIL_LOG_ERROR && level <= DINRAIL_LOG_TRACE && text != NULL && size > 0)
        messages++;
}

static void logging(void) {
    static const dinrail_logger logger = {heard, &messages, DINRAIL_LOG_TRACE};
    static const dinrail_logger deaf = {NULL, NULL, DINRAIL_LOG_TRACE}, odd = {heard, NULL, 17};
    GIVES(DINRAIL_ERROR_NULL, dinrail_log_to(&deaf, &E));
    GIVES(DINRAIL_ERROR_INVALID, dinrail_log_to(&odd, &E));
    OK(dinrail_log_to(&logger, &E));
    OK(dinrail_log_to(NULL, &E));
    OK(dinrail_log_to(&logger, &E));
}

int main(int argc, char **argv) {
    if (argc > 2) OK(dinrail_device_by_name(argv[2], &device, &E));
    else OK(dinrail_device_best(&device, &E));
    logging();
    registry();
    errors();
    buffers();
    graphs();
    computing();
    undermined();
    forked();
    drivers();
    if (argc > 1) models(argv[1]);
    plugins(argc > 3 ? argv[3] : NULL);
    OK(dinrail_log_to(NULL, &E));
    printf("api: %d failures, %u messages\n", failures, messages);
    return failures != 0;
}
