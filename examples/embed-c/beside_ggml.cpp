// dinrail and ggml in one program: both compute rows of silu(rms_norm(W x)) and agree.
#include <dinrail.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

// As much of ggml's interface as this needs, so that no header of it has to be installed.
extern "C" {
struct ggml_context;
struct ggml_tensor;
struct ggml_cgraph;
struct ggml_init_params {
    size_t mem_size;
    void *mem_buffer;
    bool no_alloc;
};
ggml_context *ggml_init(ggml_init_params params);
void ggml_free(ggml_context *context);
ggml_tensor *ggml_new_tensor_2d(ggml_context *context, int type, int64_t ne0, int64_t ne1);
ggml_tensor *ggml_mul_mat(ggml_context *context, ggml_tensor *a, ggml_tensor *b);
ggml_tensor *ggml_rms_norm(ggml_context *context, ggml_tensor *a, float eps);
ggml_tensor *ggml_silu(ggml_context *context, ggml_tensor *a);
ggml_cgraph *ggml_new_graph(ggml_context *context);
void ggml_build_forward_expand(ggml_cgraph *graph, ggml_tensor *tensor);
float *ggml_get_data_f32(const ggml_tensor *tensor);
int ggml_graph_compute_with_ctx(ggml_context *context, ggml_cgraph *graph, int threads);
}

namespace {

constexpr size_t K = 64, ROWS = 48, COLUMNS = 5;
constexpr float EPS = 1e-5f;
using Numbers = std::vector<float>;

Numbers numbers(size_t n, unsigned seed) {
    Numbers out(n);
    for (float &x : out) {
        seed = seed * 1664525u + 1013904223u;
        x = static_cast<float>(seed >> 8) / static_cast<float>(1u << 23) - 1.0f;
    }
    return out;
}

Numbers theirs(const Numbers &weights, const Numbers &input) {
    ggml_context *context = ggml_init({16u << 20, nullptr, false});
    ggml_tensor *w = ggml_new_tensor_2d(context, 0, K, ROWS);
    ggml_tensor *x = ggml_new_tensor_2d(context, 0, K, COLUMNS);
    ggml_tensor *y = ggml_silu(context, ggml_rms_norm(context, ggml_mul_mat(context, w, x), EPS));
    ggml_cgraph *graph = ggml_new_graph(context);
    ggml_build_forward_expand(graph, y);
    for (size_t i = 0; i < weights.size(); i++) ggml_get_data_f32(w)[i] = weights[i];
    for (size_t i = 0; i < input.size(); i++) ggml_get_data_f32(x)[i] = input[i];
    if (ggml_graph_compute_with_ctx(context, graph, 1) != 0) std::exit(3);
    const float *data = ggml_get_data_f32(y);
    Numbers out(data, data + ROWS * COLUMNS);
    ggml_free(context);
    return out;
}

void check(dinrail_status status, const dinrail_error &error) {
    if (status == DINRAIL_OK) return;
    char text[256];
    dinrail_error_text(&error, text, sizeof text);
    std::fprintf(stderr, "%s\n", text);
    std::exit(2);
}

Numbers ours(const Numbers &weights, const Numbers &input) {
    dinrail_error error;
    dinrail_device device;
    check(dinrail_device_by_kind(DINRAIL_DEVICE_CPU, &device, &error), error);
    dinrail_stream stream{};
    check(dinrail_stream_open(&stream, device, nullptr, &error), error);
    dinrail_graph graph{};
    dinrail_node nodes[8];
    check(dinrail_graph_begin(&graph, nodes, 8, &error), error);
    const dinrail_id w = dinrail_graph_input(&graph, DINRAIL_F32, K, ROWS, 1, 1);
    const dinrail_id x = dinrail_graph_input(&graph, DINRAIL_F32, K, COLUMNS, 1, 1);
    const dinrail_id p = dinrail_op_mul_mat(&graph, w, x, false);
    const dinrail_id y = dinrail_op_silu(&graph, dinrail_op_rms_norm(&graph, p, EPS));
    dinrail_graph_output(&graph, y);
    check(dinrail_graph_finish(&graph, &error), error);
    dinrail_plan plan{};
    dinrail_place places[8];
    dinrail_work work[8];
    dinrail_plan_options options = DINRAIL_PLAN_OPTIONS_INIT;
    check(dinrail_stream_scratch(&stream, &graph, &options.scratch, &error), error);
    check(dinrail_plan_make(&plan, &graph, &options, places, work, 8, &error), error);
    dinrail_buffer arena{};
    check(dinrail_buffer_alloc(&arena, dinrail_device_buffer_type(device), dinrail_plan_arena(&plan), &error), error);
    const dinrail_binding slots[] = {{&arena, 0}};
    dinrail_program program{};
    check(dinrail_program_make(&program, &graph, &plan, slots, 1, &error), error);
    check(dinrail_program_set(&program, w, 0, weights.data(), weights.size() * 4, &error), error);
    check(dinrail_program_set(&program, x, 0, input.data(), input.size() * 4, &error), error);
    check(dinrail_stream_compute(&stream, &program, &error), error);
    check(dinrail_stream_wait(&stream, &error), error);
    Numbers out(ROWS * COLUMNS);
    check(dinrail_program_get(&program, y, 0, out.data(), out.size() * 4, &error), error);
    dinrail_buffer_close(&arena);
    dinrail_stream_close(&stream);
    return out;
}

} // namespace

int main() {
    const Numbers weights = numbers(K * ROWS, 1), input = numbers(K * COLUMNS, 2);
    const Numbers a = ours(weights, input), b = theirs(weights, input), c = ours(weights, input);
    float most = 0;
    for (size_t i = 0; i < a.size(); i++) most = std::fmax(most, std::fabs(a[i] - b[i]));
    std::printf("%zu numbers, ggml's and dinrail's differ by %.2g at most\n", a.size(), static_cast<double>(most));
    return most < 1e-4f && a == c ? 0 : 1;
}
