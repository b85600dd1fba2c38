// The C interface from C++: objects that close themselves, errors as exceptions.
#include <dinrail.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(dinrail_status status, const dinrail_error &error) {
    if (status == DINRAIL_OK) return;
    std::string text(dinrail_error_text(&error, nullptr, 0) + 1, '\0');
    dinrail_error_text(&error, text.data(), text.size());
    text.pop_back();
    throw std::runtime_error(text);
}

// An object of the library stays where it was opened, so these are neither copied nor moved.
template <typename T, void (*close)(T *)> class Owned {
  public:
    Owned() = default;
    Owned(const Owned &) = delete;
    Owned &operator=(const Owned &) = delete;
    ~Owned() { close(&object); }
    T *get() { return &object; }

  private:
    T object{};
};
using Stream = Owned<dinrail_stream, dinrail_stream_close>;
using Buffer = Owned<dinrail_buffer, dinrail_buffer_close>;

std::array<float, 4> silu(dinrail_device device, const std::array<float, 4> &in) {
    dinrail_error error;
    Stream stream;
    check(dinrail_stream_open(stream.get(), device, nullptr, &error), error);
    dinrail_graph graph{};
    std::vector<dinrail_node> nodes(2);
    check(dinrail_graph_begin(&graph, nodes.data(), nodes.size(), &error), error);
    const dinrail_id x = dinrail_graph_input(&graph, DINRAIL_F32, 4, 1, 1, 1);
    const dinrail_id y = dinrail_op_unary(&graph, x, DINRAIL_UNARY_SILU);
    dinrail_graph_output(&graph, y);
    check(dinrail_graph_finish(&graph, &error), error);
    dinrail_plan plan{};
    std::vector<dinrail_place> places(2);
    std::vector<dinrail_work> work(2);
    check(dinrail_plan_make(&plan, &graph, nullptr, places.data(), work.data(), 2, &error), error);
    Buffer arena;
    check(dinrail_buffer_alloc(arena.get(), dinrail_device_buffer_type(device), dinrail_plan_arena(&plan), &error),
          error);
    const dinrail_binding slots[] = {{arena.get(), 0}};
    dinrail_program program{};
    check(dinrail_program_make(&program, &graph, &plan, slots, 1, &error), error);
    check(dinrail_program_set(&program, x, 0, in.data(), sizeof in, &error), error);
    check(dinrail_stream_compute(stream.get(), &program, &error), error);
    check(dinrail_stream_wait(stream.get(), &error), error);
    std::array<float, 4> out{};
    check(dinrail_program_get(&program, y, 0, out.data(), sizeof out, &error), error);
    return out;
}

} // namespace

int main() {
    dinrail_error error;
    for (std::size_t i = 0; i < dinrail_device_count(); i++) {
        dinrail_device device;
        dinrail_device_props props;
        check(dinrail_device_at(i, &device, &error), error);
        check(dinrail_device_get_props(device, &props, &error), error);
        const auto out = silu(device, {-1, 0, 1, 2});
        std::printf("%.*s: %.4f %.4f %.4f %.4f\n", DINRAIL_TEXT(props.name), static_cast<double>(out[0]),
                    static_cast<double>(out[1]), static_cast<double>(out[2]), static_cast<double>(out[3]));
    }
    try {
        dinrail_device none;
        check(dinrail_device_by_name("nobody", &none, &error), error);
        return 1;
    } catch (const std::runtime_error &e) {
        std::printf("nobody: %s\n", e.what());
    }
    return 0;
}
