#include "load/live_line.hpp"

#include "load/verdict.hpp"

#include <chrono>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>

namespace redlock::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto terminal_interval = 200ms;
constexpr auto line_interval = 1s;
constexpr auto least_interval = 100ms;

double seconds(bench_clock::duration d)
{
    return std::chrono::duration<double>(d).count();
}

std::string text_of(const figures& f, double span)
{
    std::ostringstream text;
    text << std::fixed << std::setprecision(0) << std::setw(7)
         << static_cast<double>(f.acquires.count()) / span << " acquires/s   p50" << std::setw(6)
         << latency_text(f.acquires, 0.5) << " ms   p99" << std::setw(7)
         << latency_text(f.acquires, 0.99) << " ms   contended" << std::setw(5)
         << f.failed_by(errc::contended) << "   unavailable" << std::setw(5)
         << f.failed_by(errc::unavailable);
    const auto others = f.failed_otherwise() - f.failed_by(errc::unavailable);
    if (others != 0) {
        text << "   other errors" << std::setw(5) << others;
    }
    return text.str();
}

}  // namespace

live_line::live_line(std::size_t nodes, std::ostream& out, int descriptor)
    : nodes_(nodes),
      out_(out),
      descriptor_(descriptor),
      terminal_(::isatty(descriptor) == 1)
{}

void live_line::start()
{
    began_ = bench_clock::now();
    printed_ = began_;
}

void live_line::show(const figures& latest, std::size_t ready)
{
    since_printed_.merge(latest);
    ready_ = ready;
    if (bench_clock::now() - printed_ >= (terminal_ ? terminal_interval : line_interval)) {
        print();
    }
}

void live_line::print()
{
    const auto now = bench_clock::now();
    std::ostringstream line;
    line << std::fixed << std::setprecision(1) << std::setw(6) << seconds(now - began_) << " s"
         << text_of(since_printed_, seconds(now - printed_)) << "   " << ready_ << " of " << nodes_
         << " nodes";
    if (terminal_) {
        // A longer line could not be overwritten.
        out_ << "\r\x1b[K" << line.str().substr(0, width()) << std::flush;
    } else {
        out_ << line.str() << '\n' << std::flush;
    }
    unfinished_ = terminal_;
    since_printed_ = {};
    printed_ = now;
}

std::size_t live_line::width() const
{
    winsize size{};
    const bool is_known = ::ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return is_known ? size.ws_col - 1U : std::string::npos;
}

void live_line::clear()
{
    if (unfinished_) {
        out_ << "\r\x1b[K" << std::flush;
    }
    unfinished_ = false;
}

void live_line::say(std::string_view text)
{
    if (!terminal_ && bench_clock::now() - printed_ >= least_interval &&
        since_printed_.acquires.count() + since_printed_.failures() != 0) {
        print();
    }
    if (unfinished_) {
        out_ << '\n';
    }
    unfinished_ = false;
    out_ << text << '\n' << std::flush;
}

}  // namespace redlock::bench
