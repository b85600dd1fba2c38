/* A main loop that computes in steps and does other things meanwhile, with all memory its own:
 * stepwise MODEL.gguf RECORDING.bin */
#include "detector.h"

#include <stdio.h>

static int fail(const char *what, const dinrail_error *error) {
    char text[256];
    dinrail_error_text(error, text, sizeof text);
    fprintf(stderr, "%s: %s\n", what, text);
    return 1;
}

int main(int argc, char **argv) {
    static detector d;
    static _Alignas(64) unsigned char arena[32 * 1024];
    dinrail_error error;
    dinrail_device device;
    dinrail_file model = {0}, recording = {0};
    size_t size, recording_size;
    if (argc != 3) {
        fprintf(stderr, "usage: %s MODEL.gguf RECORDING.bin\n", argv[0]);
        return 2;
    }
    if (dinrail_device_by_kind(DINRAIL_DEVICE_CPU, &device, &error)) return fail("device", &error);
    if (dinrail_file_map(&model, argv[1], &error)) return fail(argv[1], &error);
    if (dinrail_file_map(&recording, argv[2], &error)) return fail(argv[2], &error);
    const void *bytes = dinrail_file_data(&model, &size);
    const float *frames = dinrail_file_data(&recording, &recording_size);
    if (detector_plan(&d, device, bytes, size, &error)) return fail("plan", &error);

    /* One byte too small is an error with both numbers. */
    size_t need = detector_arena(&d);
    if (detector_open(&d, arena, need - 1, &error) != DINRAIL_ERROR_FULL) return fail("small arena", &error);
    printf("with %lld bytes instead of %lld: ", (long long)error.numbers[1], (long long)error.numbers[0]);
    char text[256];
    dinrail_error_text(&error, text, sizeof text);
    printf("%s\n", text);
    dinrail_buffer_close(&d.arena);
    if (detector_open(&d, arena, sizeof arena, &error)) return fail("open", &error);

    dinrail_run run = {0};
    unsigned ticks = 0;
    bool done = false;
    if (recording_size < DETECTOR_WIDTH * sizeof(float)) return 1;
    if (dinrail_program_set(&d.program, d.input, 0, frames, DETECTOR_WIDTH * sizeof(float), &error))
        return fail("set", &error);
    if (dinrail_run_begin(&run, &d.stream, &d.program, &error)) return fail("begin", &error);
    while (!done) {
        if (dinrail_run_poll(&run, &done, &error)) return fail("poll", &error);
        ticks++; /* whatever else the program has to do */
    }
    float first;
    if (dinrail_program_get(&d.program, d.output, 0, &first, sizeof first, &error)) return fail("get", &error);
    printf("%u steps, first number %.2f\n", ticks, (double)first);
    detector_close(&d);
    dinrail_file_close(&recording);
    dinrail_file_close(&model);
    /* The reference says -47.566; 8-bit weights cost a little. */
    return ticks > DETECTOR_LAYERS && first > -49 && first < -46 ? 0 : 1;
}
