/* Listens to a recording with the anomaly detector: ad01 MODEL.gguf RECORDING.bin [DEVICE]
 * Prints the first numbers of the first window's output and each window's mean squared error. */
#include "detector.h"

#include <stdio.h>

static int fail(const char *what, const dinrail_error *error) {
    char text[256];
    dinrail_error_text(error, text, sizeof text);
    fprintf(stderr, "%s: %s (%s)\n", what, text, dinrail_status_name(error->code));
    return 1;
}

int main(int argc, char **argv) {
    static detector d;
    static float out[DETECTOR_WIDTH];
    dinrail_error error;
    dinrail_device device;
    dinrail_device_props props;
    dinrail_file model = {0}, recording = {0};
    size_t model_size, recording_size;
    int status = 1;
    if (argc < 3) {
        fprintf(stderr, "usage: %s MODEL.gguf RECORDING.bin [DEVICE]\n", argv[0]);
        return 2;
    }
    if (argc > 3 ? dinrail_device_by_name(argv[3], &device, &error) : dinrail_device_best(&device, &error))
        return fail("device", &error);
    if (dinrail_device_get_props(device, &props, &error)) return fail("device", &error);
    if (dinrail_file_map(&model, argv[1], &error)) return fail(argv[1], &error);
    if (dinrail_file_map(&recording, argv[2], &error)) {
        dinrail_file_close(&model);
        return fail(argv[2], &error);
    }
    const void *bytes = dinrail_file_data(&model, &model_size);
    const float *frames = dinrail_file_data(&recording, &recording_size);
    if (detector_plan(&d, device, bytes, model_size, &error) || detector_open(&d, NULL, 0, &error)) {
        fail(argv[1], &error);
        goto end;
    }
    printf("%.*s, %zu bytes of arena\n", DINRAIL_TEXT(props.name), detector_arena(&d));
    size_t numbers = recording_size / sizeof(float);
    double sum = 0;
    size_t windows = 0;
    for (size_t at = 0; at + DETECTOR_WIDTH <= numbers; at += DETECTOR_BINS, windows++) {
        double mse;
        if (detector_run(&d, frames + at, out, &mse, &error)) {
            fail("run", &error);
            goto end;
        }
        if (windows == 0) {
            printf("output");
            for (int i = 0; i < 6; i++) printf(" %.4f", (double)out[i]);
            printf("\n");
        }
        printf("window %zu: %.4f\n", windows, mse);
        sum += mse;
    }
    printf("mean %.3f\n", windows == 0 ? 0.0 : sum / (double)windows);
    status = 0;
end:
    detector_close(&d);
    dinrail_file_close(&recording);
    dinrail_file_close(&model);
    return status;
}
