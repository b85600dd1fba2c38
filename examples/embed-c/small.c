/* The smallest program: silu of four numbers, on the best device that the library has. */
#include <dinrail.h>
#include <stdio.h>

#define CHECK(call)                                                  \
    do {                                                             \
        if ((call) != DINRAIL_OK) {                                  \
            char text[256];                                          \
            dinrail_error_text(&error, text, sizeof text);           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, text); \
            return 1;                                                \
        }                                                            \
    } while (0)

enum { NODES = 2 };

int main(void) {
    dinrail_error error;
    dinrail_device device;
    dinrail_device_props props;
    dinrail_stream stream = {0};
    CHECK(dinrail_device_best(&device, &error));
    CHECK(dinrail_device_get_props(device, &props, &error));
    CHECK(dinrail_stream_open(&stream, device, NULL, &error));

    dinrail_graph graph = {0};
    dinrail_node nodes[NODES];
    CHECK(dinrail_graph_begin(&graph, nodes, NODES, &error));
    dinrail_id x = dinrail_graph_input(&graph, DINRAIL_F32, 4, 1, 1, 1);
    dinrail_id y = dinrail_op_silu(&graph, x);
    dinrail_graph_output(&graph, y);
    CHECK(dinrail_graph_finish(&graph, &error));

    dinrail_plan plan = {0};
    dinrail_place places[NODES];
    dinrail_work work[NODES];
    dinrail_plan_options options = DINRAIL_PLAN_OPTIONS_INIT;
    CHECK(dinrail_stream_scratch(&stream, &graph, &options.scratch, &error));
    CHECK(dinrail_plan_make(&plan, &graph, &options, places, work, NODES, &error));

    dinrail_buffer arena = {0};
    dinrail_program program = {0};
    CHECK(dinrail_buffer_alloc(&arena, dinrail_device_buffer_type(device), dinrail_plan_arena(&plan), &error));
    dinrail_binding slots[] = {{&arena, 0}};
    CHECK(dinrail_program_make(&program, &graph, &plan, slots, 1, &error));

    float in[4] = {-1, 0, 1, 2}, out[4];
    CHECK(dinrail_program_set(&program, x, 0, in, sizeof in, &error));
    CHECK(dinrail_stream_compute(&stream, &program, &error));
    CHECK(dinrail_stream_wait(&stream, &error));
    CHECK(dinrail_program_get(&program, y, 0, out, sizeof out, &error));
    printf("%.*s: %.4f %.4f %.4f %.4f\n", DINRAIL_TEXT(props.name), (double)out[0], (double)out[1],
           (double)out[2], (double)out[3]);

    dinrail_buffer_close(&arena);
    dinrail_stream_close(&stream);
    return 0;
}
