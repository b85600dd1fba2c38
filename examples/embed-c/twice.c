/* Two libraries of different prefixes in one program. This file is compiled three times: with -DPART=first and the first library's
 * prefix, with -DPART=second and the second's, and as it is. */
#ifdef PART
#include <dinrail.h>

/* silu(2 x) of one number, or -1. */
float PART(float x, const void **where);
float PART(float x, const void **where) {
    dinrail_device device;
    dinrail_stream stream = {0};
    dinrail_graph graph = {0};
    dinrail_node nodes[3];
    dinrail_plan plan = {0};
    dinrail_place places[3];
    dinrail_work work[3];
    dinrail_buffer arena = {0};
    dinrail_program program = {0};
    float y = -1;
    if (dinrail_device_best(&device, NULL) || dinrail_stream_open(&stream, device, NULL, NULL)) return -1;
    dinrail_graph_begin(&graph, nodes, 3, NULL);
    dinrail_id in = dinrail_graph_input(&graph, DINRAIL_F32, 1, 1, 1, 1);
    dinrail_id out = dinrail_op_silu(&graph, dinrail_op_scale(&graph, in, 2, 0));
    dinrail_graph_output(&graph, out);
    if (dinrail_graph_finish(&graph, NULL) == 0 && dinrail_plan_make(&plan, &graph, NULL, places, work, 3, NULL) == 0 &&
        dinrail_buffer_alloc(&arena, dinrail_device_buffer_type(device), dinrail_plan_arena(&plan), NULL) == 0) {
        const dinrail_binding slots[] = {{&arena, 0}};
        if (dinrail_program_make(&program, &graph, &plan, slots, 1, NULL) ||
            dinrail_program_set(&program, in, 0, &x, sizeof x, NULL) ||
            dinrail_stream_compute(&stream, &program, NULL) || dinrail_stream_wait(&stream, NULL) ||
            dinrail_program_get(&program, out, 0, &y, sizeof y, NULL))
            y = -1;
    }
    dinrail_buffer_close(&arena);
    dinrail_stream_close(&stream);
    *where = dinrail_build().data;
    return y;
}
#else
#include <stdio.h>

float first(float x, const void **where);
float second(float x, const void **where);

int main(void) {
    const void *one, *two;
    float a = first(1, &one), b = second(1, &two);
    printf("first %.4f, second %.4f, %s\n", (double)a, (double)b, one == two ? "the same library" : "two libraries");
    /* 2 / (1 + exp(-2)) */
    return a > 1.7615f && a < 1.7617f && a == b && one != two ? 0 : 1;
}
#endif
