#ifndef WHYWAIT_CLOCKS_VIRTUAL_CLOCKS_HPP
#define WHYWAIT_CLOCKS_VIRTUAL_CLOCKS_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/clock_stage.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/explain/transport_calls.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace whywait {
inline namespace v0 {
namespace clocks {
namespace detail {

class clock_stages final : public explain::run_clocks {
 public:
  clock_stages(const explain::rank_history* histories, std::size_t count, const explain::options& settings,
               base::memory_pool& memory)
      : settings_(&settings), scratch_(memory), cost_(memory) {
    stages_.reserve(count);
    for (std::size_t i = 0; i != count; ++i) stages_.emplace_back(new clock_stage(histories[i], settings, scratch_, cost_));
  }

  explain::rank_clocks& of(std::size_t hosted) override { return *stages_[hosted]; }

  // One backward pass, at once or together with the first pass of the clocks.
  void compute_delay_costs(explain::transport_calls& transport) override {
    const auto alone = [this](std::int32_t) { return stages_.size() == 1 ? std::int64_t{1} : std::int64_t{0}; };
    later_ = transport.minimum(alone) == 1;
    if (!later_) run(transport, true, false);
  }

  // One exchange, then as many forward passes and reductions as the questions need. With options::maps there are also questions
  // about other speeds of the blocks that save most. They need a further pass unless the blocks were guessed and the questions
  // fitted into the passes before.
  void answer_questions(explain::transport_calls& transport, std::int64_t earliest_ns) override {
    transport.exchange(
        [&](std::int32_t i, explain::outbox_call to, std::size_t room) { at(i).needs().send_requests(to, room); },
        [&](std::int32_t i, std::int32_t source, const unsigned char* data, std::size_t size) {
          at(i).needs().receive_requests(source, base::packet_reader(data, size));
        });
    base::vector<node_map> nodes(stages_.size());
    base::vector<block_balance> balances(stages_.size());
    for (std::size_t i = 0; i != nodes.size(); ++i) {
      nodes[i].add(stages_[i]->rank());
      stages_[i]->join_code(balances[i]);
    }
    transport.reduce(
        [&](std::int32_t i) {
          base::packet more;
          balances[static_cast<std::size_t>(i)].write(more);
          return packed(nodes[static_cast<std::size_t>(i)], more);
        },
        [&](std::int32_t i, const unsigned char* data, std::size_t size) {
          base::packet_reader in(data, size);
          nodes[static_cast<std::size_t>(i)].join(in);
          balances[static_cast<std::size_t>(i)].join(in);
        });
    node_map all;
    ideal_networks ideal;
    std::size_t before = 0;  // bytes of the packet
    bool balanced = false;
    transport.broadcast(
        [&](std::int32_t i) {
          return packed(nodes[static_cast<std::size_t>(i)],
                        at(i).choose_blocks(balances[static_cast<std::size_t>(i)], most_balanced));
        },
        [&](std::int32_t i, const unsigned char* data, std::size_t size) {
          const bool first = questions_.empty();  // the packet is the same for all hosted ranks
          base::packet_reader in(data + before, size - before);
          if (first) all.join(in);
          before = size - in.left();
          balanced = at(i).read_balanced(in);
          if (!first) return;
          ideal = {all.several(), all.any_files()};
          questions_ = at(i).questions(*settings_, ideal, in);
          first_questions_ = questions_.size();
          if (settings_->maps) guess({in.rest(), in.left()});
        });
    if (balanced) {
      transport.reduce([&](std::int32_t i) { return at(i).pack_course(); },
                       [&](std::int32_t i, const unsigned char* data, std::size_t size) { at(i).merge_course(data, size); });
      transport.broadcast([&](std::int32_t i) { return at(i).pack_course(); },
                          [&](std::int32_t i, const unsigned char* data, std::size_t size) { at(i).set_course(data, size); });
    }
    ask(transport, 0, ideal, all, earliest_ns);
    if (!settings_->maps) return;
    const std::size_t asked = questions_.size();
    transport.broadcast([&](std::int32_t i) { return at(i).choose_factors(first_questions_); },
                        [&](std::int32_t i, const unsigned char* data, std::size_t size) {
                          if (i == 0)
                            at(i).set_factors(ask_further_speeds(questions_, {data, size}));  // the packet is the same for all
                        });
    ask(transport, asked, ideal, all, earliest_ns);
  }

 private:
  static constexpr std::size_t most_balanced = 6;  ///< blocks for which balancing is predicted

  // Adds the questions about further speeds of these blocks: of as many of them as need no pass of their own.
  void guess(base::packet_reader blocks) {
    const auto passes = [](std::size_t count) { return count / most_clocks; };  // one clock compensates
    for (std::size_t size = blocks.left();; size -= sizeof(core::stable_key)) {
      ask_further_speeds(questions_, {blocks.rest(), size});
      if (passes(questions_.size()) == passes(first_questions_)) return;
      questions_.resize(first_questions_);
      if (size == 0) return;
    }
  }

  // Answers the questions from number `asked` on, in as many passes as they need.
  void ask(explain::transport_calls& transport, std::size_t asked, ideal_networks ideal, const node_map& nodes,
           std::int64_t earliest_ns) {
    while (asked != questions_.size()) {
      const bool first = asked == 0;
      const std::size_t count = std::min(questions_.size() - asked, most_clocks - (first ? 1 : 0));
      const clock_plan plan(questions_.data() + asked, count, first);
      asked += count;
      for (const auto& s : stages_) s->begin_pass(plan, questions_, asked, first_questions_, ideal, nodes);
      run(transport, first && later_, true);
      transport.reduce([&](std::int32_t i) { return at(i).pack_result(); },
                       [&](std::int32_t i, const unsigned char* data, std::size_t size) { at(i).merge_result(data, size); });
      for (const auto& s : stages_) s->keep(earliest_ns);
    }
  }

  // Runs the pass of the delay costs, a pass of the clocks, or both. Where two ranks wait for each other in turn, each pass is a
  // chain of packets, one for each wait, and two chains take little longer than one. Several ranks of one process are run
  // one pass after the other, because their packets take no time, and their memory does.
  void run(explain::transport_calls& transport, bool costs, bool clocks) {
    transport.wait_for_all();  // no rank sends before all have begun the pass
    transport.forward(
        [&](std::int32_t i, explain::post_call post) {
          const bool charged = !costs || at(i).costs().advance(post);
          return (!clocks || at(i).pass().advance(post)) && charged;
        },
        [&](std::int32_t i, std::int32_t source, const unsigned char* data, std::size_t size) {
          for (base::packet_reader in(data, size); !in.empty();) {
            const auto first = base::packet_reader(in).get<std::uint32_t>();
            if ((first & cost_pass::message_bit) != 0) at(i).costs().receive_cost(source, in);
            else at(i).pass().receive_stamp(in);
          }
        });
    transport.wait_for_all();
    for (const auto& s : stages_)
      if (costs) s->finish_costs();
  }

  static base::packet packed(const node_map& nodes, const base::packet& more) {
    base::packet out;
    nodes.write(out);
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  clock_stage& at(std::int32_t i) { return *stages_[static_cast<std::size_t>(i)]; }

  const explain::options* settings_;
  bool later_ = false;  ///< the delay costs are computed together with the first pass of the clocks
  base::vector<explain::what_if> questions_;
  std::size_t first_questions_ = 0;  ///< those after them are about further speeds
  clock_scratch scratch_;
  cost_scratch cost_;
  base::vector<std::unique_ptr<clock_stage>> stages_;
};

}  // namespace detail

/// The value of `options::clocks` that turns the virtual clocks on. They take 0.6 times as long to compile as the rest
/// of the engine, so only programs that include this header pay for them. Run-time cost: docs/internals/clocks.md. Throws
/// std::bad_alloc.
inline std::unique_ptr<explain::run_clocks> virtual_clocks(const explain::rank_history* histories, std::size_t count,
                                                           const explain::options& settings, base::memory_pool& memory) {
  return std::unique_ptr<explain::run_clocks>(new detail::clock_stages(histories, count, settings, memory));
}

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
