#include "engine/turn_entropy.hpp"

#include "base/wipe.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace redlock::engine {

namespace {

/// Asks the kernel to clear the pages in a forked child and to keep them out of core dumps. Returns
/// false unless the kernel agrees to both. The first call is a probe: some emulators accept even
/// invalid advice, and follow none.
bool protect(void* pages, std::size_t size) noexcept
{
    constexpr int no_advice = -1;
    return ::madvise(pages, size, no_advice) != 0 && ::madvise(pages, size, MADV_WIPEONFORK) == 0 &&
           ::madvise(pages, size, MADV_DONTDUMP) == 0;
}

}  // namespace

/// All zeros in a forked child, so the child has no bytes left.
struct turn_entropy::ahead {
    std::size_t left = 0;
    std::array<std::byte, most> bytes{};
};

turn_entropy::turn_entropy(base::entropy& source) noexcept : source_(source), ahead_(nullptr)
{
    constexpr std::size_t size = sizeof(ahead);
    void* const pages =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        return;
    }
    if (!protect(pages, size)) {
        ::munmap(pages, size);
        return;
    }
    ahead_ = new (pages) ahead;
}

turn_entropy::~turn_entropy()
{
    end_turn();
    if (ahead_ != nullptr) {
        ::munmap(ahead_, sizeof(ahead));
    }
}

bool turn_entropy::fill(std::span<std::byte> out) noexcept
{
    if (ahead_ == nullptr || out.size() > most) {
        return source_.fill(out);
    }
    if (ahead_->left < out.size() && !draw(out.size())) {
        return false;
    }
    ahead_->left -= out.size();
    const auto taken = std::span(ahead_->bytes).subspan(ahead_->left, out.size());
    std::ranges::copy(taken, out.begin());
    base::wipe(taken);
    used_ += taken.size();
    return true;
}

/// Draws what the last turn used, or, if this turn has used more than that, as much again as this
/// turn has used. So an unexpectedly large turn needs only a few calls.
bool turn_entropy::draw(std::size_t least) noexcept
{
    const std::size_t foreseen = expected_ > used_ ? expected_ - used_ : used_;
    const auto drawn = std::span(ahead_->bytes).first(std::clamp(foreseen, least, most));
    if (!source_.fill(drawn)) {
        base::wipe(drawn);
        ahead_->left = 0;
        return false;
    }
    ahead_->left = drawn.size();
    return true;
}

void turn_entropy::end_turn() noexcept
{
    if (ahead_ != nullptr) {
        base::wipe(std::span(ahead_->bytes).first(ahead_->left));
        ahead_->left = 0;
    }
    if (used_ != 0) {
        expected_ = std::exchange(used_, 0);
    }
}

}  // namespace redlock::engine
