#include "load/course.hpp"

#include <random>
#include <utility>

namespace redlock::bench {
namespace {

constexpr std::size_t shared_every = 16;

}  // namespace

course::course(boost::asio::any_io_executor ex, const config& c, plan p)
    : todo(std::move(p)),
      // Keys of another run may still be on the nodes.
      mark(todo.names.empty() ? "bench:" + std::to_string(std::random_device{}()) + ':'
                              : todo.names),
      locks(std::move(ex), c),
      score(todo.resources + todo.shared, todo.workers)
{
    for (std::size_t i = 0; i < todo.resources + todo.shared; ++i) {
        names.push_back(mark + std::to_string(i));
    }
}

std::size_t course::resource_of(std::size_t worker, std::size_t cycle) const
{
    if (todo.shared == 0 || (cycle + worker) % shared_every != 0) {
        return worker % todo.resources;
    }
    return todo.resources + (worker + cycle / shared_every) % todo.shared;
}

void course::leaves()
{
    if (--active == 0 && on_all_left) {
        on_all_left();
    }
}

}  // namespace redlock::bench
