#include "sim/contention/faults.hpp"

#include "base/settings.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <tuple>
#include <utility>

namespace redlock::contention {

using namespace std::chrono_literals;

namespace {

/// How often a server searches for expired keys, with its default `hz 10`.
constexpr nanos expiry_interval = 100ms;

/// Above all numbers of tickets.
constexpr double beyond_numbers = 1e16;

/// The largest number of tickets that one change adds.
constexpr std::uint64_t most_added = 5;

bool loses_keys(fault what)
{
    return what == fault::queue_node_flushed || what == fault::queue_node_flushed_silently ||
           what == fault::queue_node_emptied;
}

}  // namespace

// Spoiled keys.

queue_spoiler::queue_spoiler(test::random_source& random, std::string resource)
    : random_(random),
      resource_(std::move(resource)),
      queue_(resource_ + std::string(base::queue_suffix))
{}

void queue_spoiler::spoil(instant now, test::model_master& node)
{
    static constexpr std::array changes{
        &queue_spoiler::delete_queue,      &queue_spoiler::replace_queue,
        &queue_spoiler::expire_queue,      &queue_spoiler::delete_ticket_key,
        &queue_spoiler::expire_ticket_key, &queue_spoiler::persist_ticket_key,
        &queue_spoiler::change_numbers,    &queue_spoiler::add_strangers,
        &queue_spoiler::add_dead_client,   &queue_spoiler::add_tickets_without_key,
    };
    const entry* const there = node.find(now, queue_);
    const bool is_queue = there != nullptr && there->foreign_kind;
    target t{now, node, is_queue ? *there : entry{{}, std::nullopt, true}};
    (this->*changes[random_.below(changes.size())])(t);
}

void queue_spoiler::delete_queue(target& t)
{
    t.node.lose(queue_);
}

void queue_spoiler::replace_queue(target& t)
{
    t.node.write(queue_, {.value = "a string", .end = t.now + random_.between(nanos{1ms}, 500ms)});
}

void queue_spoiler::expire_queue(target& t)
{
    t.queue.end = t.now + random_.between(nanos{1ms}, 20ms);
    write_queue(t);
}

void queue_spoiler::delete_ticket_key(target& t)
{
    t.node.lose(key_of(some_ticket(t)));
}

void queue_spoiler::expire_ticket_key(target& t)
{
    t.node.write(key_of(some_ticket(t)), {.value = {}, .end = t.now + 1ms});
}

void queue_spoiler::persist_ticket_key(target& t)
{
    t.node.write(key_of(some_ticket(t)), {.value = {}, .end = std::nullopt});
}

void queue_spoiler::change_numbers(target& t)
{
    for (auto& each : t.queue.tickets) {
        // A client would stay at the end for ever after a number above all others.
        const double number = some_number(t);
        if (number < beyond_numbers && random_.one_in(4)) {
            each.number = number;
        }
    }
    write_queue(t);
}

/// Members that no client would make.
void queue_spoiler::add_strangers(target& t)
{
    const std::string binary{"\0\r\n\xff", 4};
    for (const std::string& name :
         {std::string{}, std::string{"garbage"}, binary, std::string(16, 'A'), std::string(17, 'a'),
          std::string(1000, 'x')}) {
        if (random_.one_in(3)) {
            add(t, name, some_number(t));
        }
        if (random_.one_in(10)) {
            t.node.write(key_of(name), {.value = {}, .end = t.now + 1s});
        }
    }
    write_queue(t);
}

void queue_spoiler::add_tickets_without_key(target& t)
{
    for (std::uint64_t n = random_.between(1, most_added); n > 0; --n) {
        add(t, new_ticket(), some_number(t));
    }
    write_queue(t);
}

/// A client at the front that does not ask, and whose ticket lives for another second.
void queue_spoiler::add_dead_client(target& t)
{
    const std::string ticket = new_ticket();
    t.node.write(key_of(ticket), {.value = {}, .end = t.now + 1s});
    add(t, ticket, 1);
    write_queue(t);
}

void queue_spoiler::add(target& t, const std::string& member, double number)
{
    std::erase_if(t.queue.tickets, [&](const auto& each) { return each.name == member; });
    t.queue.tickets.push_back({number, member});
}

void queue_spoiler::write_queue(target& t)
{
    if (t.queue.tickets.empty()) {
        return;
    }
    std::ranges::sort(t.queue.tickets, {}, [](const test::model_master::ticket& each) {
        return std::tie(each.number, each.name);
    });
    t.node.write(queue_, std::move(t.queue));
}

std::string queue_spoiler::key_of(const std::string& ticket) const
{
    return resource_ + ":" + ticket + std::string(base::ticket_suffix);
}

std::string queue_spoiler::new_ticket()
{
    std::string name;
    while (name.size() < 16) {
        name += "0123456789abcdef"[random_.below(16)];
    }
    return name;
}

std::string queue_spoiler::some_ticket(const target& t)
{
    const auto& all = t.queue.tickets;
    return all.empty() ? new_ticket() : all[random_.below(all.size())].name;
}

double queue_spoiler::some_number(const target& t)
{
    const auto& all = t.queue.tickets;
    switch (random_.below(all.empty() ? 4 : 8)) {
        case 0: return 0;
        case 1: return -1e15;
        case 2: return beyond_numbers;
        case 3: return 0.5;
        default: return all[random_.below(all.size())].number;
    }
}

// All faults.

fault_injector::fault_injector(const plan& p, timeline& events, network& nodes,
                               client_control& clients, std::string resource)
    : plan_(p),
      events_(events),
      network_(nodes),
      clients_(clients),
      resource_(std::move(resource)),
      random_(p.seed, 2),
      spoiler_(random_, resource_)
{}

void fault_injector::start()
{
    if (plan_.what_fails != fault::none) {
        expire_keys();
        schedule_next();
    }
}

void fault_injector::schedule_next()
{
    events_.at(now() + random_.between(plan_.every / 2, plan_.every * 3 / 2), [this] { inject(); });
}

void fault_injector::inject()
{
    if (plan_.what_fails == fault::first_client_killed) {
        kill_first_client();
        return;
    }
    const auto node = clients_.queue_node(resource_);
    if (node && (!loses_keys(plan_.what_fails) || may_lose_keys(*node))) {
        ++count_;
        inject_at(*node);
    } else {
        events_.at(now() + random_.between(nanos{1us}, 1ms), [this] { inject(); });
    }
}

/// Whether a lock on the node keeps a majority of the nodes without it. Otherwise two clients might
/// have the lock, as Redlock without the restart guard allows no such loss.
bool fault_injector::may_lose_keys(unsigned node)
{
    const std::string token = network_.master(node).value(now(), resource_);
    unsigned others = 0;
    for (unsigned i = 0; i < plan_.nodes; ++i) {
        others += i != node && network_.master(i).value(now(), resource_) == token ? 1U : 0U;
    }
    return token.empty() || others >= base::majority_of(plan_.nodes);
}

/// Waits until a client is the first one while another has the lock.
void fault_injector::kill_first_client()
{
    const auto first = clients_.first_in_queue();
    if (!first) {
        events_.at(now() + random_.between(nanos{1us}, 1ms), [this] { kill_first_client(); });
        return;
    }
    ++count_;
    clients_.kill(*first);
    // A newcomer would take the free lock, and so end the standstill too early.
    events_.at(now() + random_.between(plan_.every / 2, plan_.every),
               [this, first] { clients_.restart(*first); });
    schedule_next();
}

void fault_injector::inject_at(unsigned node)
{
    const instant end = now() + random_.between(nanos{1ms}, plan_.every);
    switch (plan_.what_fails) {
        case fault::none:
        case fault::first_client_killed: return;
        case fault::queue_keys_spoiled:
            spoiler_.spoil(now(), network_.master(node));
            if (random_.one_in(4)) {
                network_.lose_notifications(node);
            }
            break;
        case fault::queue_node_killed:
            network_.stop(node);
            events_.at(end, [this, node] {
                network_.start(node);
                schedule_next();
            });
            return;
        case fault::queue_node_frozen:
            network_.suspend(node);
            events_.at(end, [this, node] {
                network_.resume(node);
                schedule_next();
            });
            return;
        case fault::queue_node_flushed: flush(node); break;
        case fault::queue_node_flushed_silently:
            if (random_.one_in(2)) {
                network_.master(node).swap_keys_away();
            } else {
                flush(node);
                network_.lose_notifications(node);
            }
            break;
        case fault::queue_node_emptied:
            network_.stop(node);
            network_.master(node).flush_keys();
            network_.start(node);
            break;
    }
    network_.send_notifications(node);
    schedule_next();
}

void fault_injector::flush(unsigned node)
{
    test::session other;
    (void)network_.master(node).execute(now(), other, {"FLUSHALL"});
}

void fault_injector::expire_keys()
{
    network_.expire_keys();
    events_.at(now() + expiry_interval, [this] { expire_keys(); });
}

}  // namespace redlock::contention
