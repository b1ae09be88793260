#include "ledger.hpp"

#include "resp/scripts.hpp"

#include <algorithm>
#include <bit>

namespace redlock::test {

using core::bit;
using core::node_mask;

namespace {

enum class purpose { set, extend, release, none };

struct meaning {
    purpose what = purpose::none;
    std::string_view token;
};

bool runs(const words& w, const resp::script& s)
{
    return (w[0] == "EVALSHA" && w[1] == s.sha1) || (w[0] == "EVAL" && w[1] == s.text);
}

meaning meaning_of(const words& w)
{
    if (w[0] == "SET" && w.at(1).find("redlock:pending:") != std::string::npos) {
        return {};
    }
    if (w[0] == "SET") {
        return {purpose::set, w.at(2)};
    }
    if (w[0] == "DELIFEQ" || w[0] == "DELEX") {
        return {purpose::release, w.back()};
    }
    if (runs(w, resp::extend_script)) {
        return {purpose::extend, w.at(4)};
    }
    if (runs(w, resp::release_script)) {
        return {purpose::release, w.at(4)};
    }
    return {};
}

}  // namespace

void ledger::note_request(unsigned node, const request& r)
{
    const meaning m = meaning_of(r.command);
    if (m.what != purpose::set) {
        return;
    }
    of_key& k = keys_[std::string(m.token)];
    k.asked |= bit(node);
    k.first = k.first.value_or(r.at);
}

void ledger::note_answer(unsigned node, const request& r, answer a)
{
    const meaning m = meaning_of(r.command);
    if (m.what == purpose::none) {
        return;
    }
    of_key& k = keys_[std::string(m.token)];
    if (m.what == purpose::set && a == answer::ok) {
        k.granted |= bit(node);
    }
    if (m.what == purpose::extend && a == answer::one) {
        k.granted |= bit(node);
        k.renewals.push_back({r.at, node});
    }
    if (m.what == purpose::release &&
        (a == answer::one || a == answer::zero || a == answer::error)) {
        k.released |= bit(node);
    }
}

const ledger::of_key* ledger::find(std::string_view token) const
{
    const auto at = keys_.find(token);
    return at == keys_.end() ? nullptr : &at->second;
}

node_mask ledger::granted(std::string_view token) const
{
    const of_key* const k = find(token);
    return distrusted_ | (k == nullptr ? 0 : k->granted);
}

std::optional<base::instant> ledger::asked_at(std::string_view token) const
{
    const of_key* const k = find(token);
    return k == nullptr ? std::nullopt : k->first;
}

bool ledger::extended(std::string_view token, base::instant begun) const
{
    node_mask by = distrusted_;
    if (const of_key* const k = find(token)) {
        for (const renewal& r : k->renewals) {
            by |= r.sent >= begun ? bit(r.node) : 0;
        }
    }
    return is_majority(by);
}

unsigned ledger::without_key(std::string_view token, unsigned nodes) const
{
    const of_key* const k = find(token);
    const node_mask asked = k == nullptr ? 0 : k->asked;
    const node_mask released = k == nullptr ? 0 : k->released;
    const node_mask without = distrusted_ | released | ~asked;
    return static_cast<unsigned>(std::popcount(without & core::all_nodes(nodes)));
}

bool ledger::is_majority(node_mask nodes) const
{
    return static_cast<unsigned>(std::popcount(nodes)) >= quorum_;
}

bool ledger::is_secret(std::string_view digits) const
{
    return std::any_of(keys_.begin(), keys_.end(), [digits](const auto& k) {
        return k.first.find(digits) != std::string::npos;
    });
}

}  // namespace redlock::test
