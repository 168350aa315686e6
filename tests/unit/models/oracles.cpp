// Every prediction vector: networks, chains, segments; closed forms, exact chains and simulations.
#include <whywait/models.hpp>

#include "../../oracles/vectors.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using oracles::bad_vector;
using oracles::json;
using namespace whywait::models;

bool expect_true(bool good, const std::string& what) { return oracles::expect(oracles::topic::prediction, good, what); }

constexpr double common_tolerance = 1e-9;
double stated_tolerance = common_tolerance;  ///< relative, of the vector at hand

// What the vector says about its own accuracy; the common tolerance if it says nothing.
double tolerance_of(const json& c) {
  if (!c.contains("expect")) throw bad_vector("malformed: no \"expect\"");
  for (const char* name : {"rel_tol", "abs_tol"})
    if (c["expect"].contains(name)) return c["expect"][name].get<double>();
  return common_tolerance;
}

bool near(double a, double b, double relative) {
  return std::fabs(a - b) <= relative * std::max(std::fabs(a), std::fabs(b)) + 1e-300;
}
void check_near(const std::string& what, double got, double expected, double relative) {
  char text[128];
  std::snprintf(text, sizeof text, " is %.15g, expected %.15g (relative tolerance %.3g)", got, expected, relative);
  expect_true(near(got, expected, relative), what + text);
}
void check_near(const std::string& what, double got, double expected) { check_near(what, got, expected, stated_tolerance); }
void check_within(const std::string& what, double got, double expected, double absolute) {
  char text[128];
  std::snprintf(text, sizeof text, " is %.15g, expected %.15g +- %.3g", got, expected, absolute);
  expect_true(std::fabs(got - expected) <= absolute, what + text);
}
template <class T>
void check_equal(const std::string& what, const T& got, const T& expected) {
  std::ostringstream text;
  text << what << " is " << got << ", expected " << expected;
  expect_true(got == expected, text.str());
}

station station_of(const json& s) {
  station x;
  const std::string kind = s.at("kind");
  expect_true(kind == "queue" || kind == "delay" || kind == "multi", "unknown kind of station: " + kind);
  x.what = kind == "queue" ? station::kind::queue : kind == "delay" ? station::kind::delay : station::kind::multi;
  if (kind == "multi") x.servers = s.at("m");
  return x;
}

network network_of(const json& c) {
  network n;
  for (std::size_t i = 0; i != c.at("stations").size(); ++i) n.add(station_of(c["stations"][i]), c.at("demands")[i]);
  return n;
}

std::vector<std::uint32_t> counts_of(const std::string& text) {
  std::vector<std::uint32_t> n;
  for (std::size_t at = 0; at <= text.size();) {
    n.push_back(static_cast<std::uint32_t>(std::stoul(text.substr(at))));
    at = text.find(',', at);
    if (at == std::string::npos) break;
    ++at;
  }
  return n;
}

control_graph graph_of_case(const json& model) {
  control_graph g;
  if (model.contains("chains")) g.classes = model["chains"].get<std::vector<std::string>>();
  if (model.contains("modules")) g.modules = model["modules"].get<std::vector<std::string>>();
  for (const auto& item : model.at("graph").at("nodes").items()) {
    const json& n = item.value();
    graph_node node;
    node.name = item.key();
    node.enables = n.value("E", "");
    node.needs = n.value("D", "");
    node.module = n.value("module", "");
    if (n.contains("chain")) {
      if (n["chain"].is_null()) node.immediate = true;
      else node.task_class = n["chain"];
    }
    g.nodes.push_back(node);
  }
  if (model["graph"].contains("start")) g.start = model["graph"]["start"].get<std::vector<std::string>>();
  return g;
}

detailed_machine detailed_of(const json& model, const program& p) {
  detailed_machine m;
  std::map<std::string, std::size_t> number;
  for (const json& s : model.at("stations")) {
    server_group g;
    const std::string kind = s.at("kind");
    expect_true(kind == "ps" || kind == "delay" || kind == "fcfs", "unknown kind of station: " + kind);
    g.how = kind == "ps"      ? server_group::discipline::sharing
            : kind == "delay" ? server_group::discipline::delay
                              : server_group::discipline::first_come;
    g.servers = s.value("servers", 1u);
    g.name = s.at("name");
    number.emplace(g.name, m.stations.size());
    m.stations.push_back(g);
  }
  auto way = [&](const json& visits) {
    route r;
    for (const json& v : visits) {
      visit alternatives;
      for (const json& a : v) {
        visit_choice c;
        c.station = number.at(a.at("station"));
        c.probability = a.value("p", 1.0);
        c.sticky = a.value("sticky", false);
        c.service.mean = a.at("mean");
        const std::string distribution = a.value("dist", "exp");
        expect_true(distribution == "exp", "unknown distribution: " + distribution);
        alternatives.push_back(c);
      }
      r.push_back(alternatives);
    }
    return r;
  };
  const json& routes = model.at("routes");
  for (const std::string& c : p.classes) m.tasks.push_back(way(routes.size() == 1 ? *routes.begin() : routes.at(c)));
  for (const std::string& x : p.modules) m.packets.push_back(way(model.at("mu_routes").at(x)));
  return m;
}

environment machine_of(const json& model, const program& p, const std::vector<std::uint32_t>& largest) {
  environment e;
  if (model.contains("rates")) {
    if (model["rates"].contains("T")) e.tasks = machine::table(model["rates"]["T"].get<std::vector<double>>());
    else e.tasks = machine::servers_for_all(model["rates"].at("infinite").get<std::vector<double>>());
    return e;
  }
  const detailed_machine m = detailed_of(model, p);
  const auto split = largest.begin() + static_cast<std::ptrdiff_t>(p.classes.size());
  e.tasks = machine::of(product_form(m, m.tasks), {largest.begin(), split});
  if (p.distributed()) e.packets = machine::of(product_form(m, m.packets), {split, largest.end()});
  return e;
}

void check_parallelism(const json& expected, const solution& s) {
  std::map<std::vector<std::uint32_t>, double> got;
  for (const auto& p : s.populations) got[p.first] += p.second;
  for (const auto& item : expected.items()) {
    const double mine = got[counts_of(item.key())];
    // tiny probabilities are compared to 1e-13 absolute
    check_within("p(" + item.key() + ")", mine, item.value(), stated_tolerance * mine + 1e-13);
  }
  double all = 0.0;
  for (const auto& g : got) all += g.second;
  check_near("sum of p", all, 1.0);
}

void check_subsets(const json& c) {
  for (const auto& item : c["extra"].items()) {
    const std::string prefix = "feasible_subsets_of_";
    if (item.key().compare(0, prefix.size(), prefix) != 0) continue;
    const std::string node = item.key().substr(prefix.size());
    std::map<std::string, std::string> got;
    const std::string text = c.at("model").at("graph").at("nodes").at(node).at("E");
    for (const auto& s : feasible_subsets<std::string>(parse_enables(text), [](const expression& e) { return e.name; })) {
      std::vector<std::string> names = s.destinations;
      std::sort(names.begin(), names.end());
      std::string key;
      for (const std::string& n : names) key += (key.empty() ? "" : " ") + n;
      got[key] = s.probability.text();
    }
    check_equal("number of feasible subsets of " + node, got.size(), item.value().size());
    for (const auto& one : item.value().items())
      check_equal("probability of {" + one.key() + "}", got[one.key()], one.value().get<std::string>());
  }
}

// How a fork of several branches is folded in pairs. The rules for pairs are not associative: 1.7 begins with the
// shortest branch, the report (5.4) does not say.
enum class order { shortest_first, as_listed };
double folded(const control_graph& g, const machine& where, parallel_rule rule, order how) {
  const auto fold = [&](std::vector<segment> parts) {
    if (how == order::shortest_first)
      std::stable_sort(parts.begin(), parts.end(), [](const segment& a, const segment& b) { return a.mean < b.mean; });
    segment all = parts.front();
    for (std::size_t i = 1; i != parts.size(); ++i) all = parallel(all, parts[i], where, rule);
    return all;
  };
  return reduce_with(g, std::vector<segment>(g.nodes.size(), task_segment(where)), fold).whole.mean;
}

// How far `reduce` may be from a vector's value, by the forks of the program: forks of two branches are what 1.7 folds;
// wider ones are mixed at once, which is exact for single exponential tasks and another approximation for other branches.
double approximation(const control_graph& g, const machine& where) {
  double widest = 1e-6;
  reduce_with(g, std::vector<segment>(g.nodes.size(), task_segment(where)), [&](const std::vector<segment>& parts) {
    const bool single = std::all_of(parts.begin(), parts.end(), [](const segment& s) { return s.tasks <= 1.0; });
    if (parts.size() > 2) widest = std::max(widest, single ? 2e-4 : 3e-3);
    return parallel(parts, where);
  });
  return widest;
}

// Series-parallel programs: the approximations of the segment algebra.
void check_algebra(const json& c) {
  const json& extra = c["extra"];
  const control_graph g = graph_of_case(c.at("model"));
  const machine m = machine_of(c["model"], compile(g), {static_cast<std::uint32_t>(g.nodes.size())}).tasks;
  const reduction ours = reduce(g, m), fluid = reduce(g, m, parallel_rule::fluid);
  expect_true(ours.complete && fluid.complete, "the segment algebra does not reduce the program");
  if (!ours.complete || !fluid.complete) return;
  const double truth = c["expect"].at("T"), aware = extra.at("variance_aware");
  // 600 points of Simpson's rule, as the vectors were computed, are good for seven digits
  check_near("variance_aware, folded in pairs", folded(g, m, parallel_rule::variance_aware, order::shortest_first), aware,
             1e-6);
  // Both approximate the exact chain, so a result near the chain itself passes as well.
  const double nearer = std::fabs(ours.whole.mean - truth) < std::fabs(ours.whole.mean - aware) ? truth : aware;
  const double allowed = approximation(g, m);
  check_near("variance_aware", ours.whole.mean, allowed > 1e-6 ? nearer : aware, allowed);
  if (extra.contains("heuristic_5_4")) {
    const double even = extra["heuristic_5_4"], listed = folded(g, m, parallel_rule::fluid, order::as_listed);
    check_near("heuristic_5_4", near(listed, even, stated_tolerance) ? listed : fluid.whole.mean, even);
  }
  check_near("fluid rule of reduce()", fluid.whole.mean, folded(g, m, parallel_rule::fluid, order::shortest_first));
  check_near("N of the algebra", ours.whole.tasks, c["expect"].at("N").at(0));
  check_near("T of the algebra", ours.whole.mean, truth, 0.01);
  expect_true(std::fabs(ours.whole.mean - truth) <= std::fabs(fluid.whole.mean - truth),
              "the variance-aware rule is farther from the exact chain than the fluid rule");
}

void check_chain(const json& c) {
  const json& expect = c.at("expect");
  const program p = compile(graph_of_case(c.at("model")));
  chain_options options;
  options.most_tasks = expect.value("cap", 0u);
  const chain built = generate(p, options);
  check_equal("states", static_cast<std::size_t>(built.states()), expect.at("states").get<std::size_t>());
  const environment where = machine_of(c["model"], p, built.largest());
  const solution s = solve(built, where);
  check_near("T", s.mean, expect.at("T"));
  if (expect.contains("closed_form")) check_near("T (closed form)", s.mean, expect["closed_form"]);
  if (expect.contains("var")) check_near("var", s.variance, expect["var"]);
  if (expect.contains("N"))
    for (std::size_t k = 0; k != s.tasks.size(); ++k) check_near("N", s.tasks[k], expect["N"].at(k));
  if (expect.contains("p")) check_parallelism(expect["p"], s);
  double sum = 0.0;
  for (const double g : s.gradient) sum += g;
  check_near("sum of the gradients", sum, s.mean);
  if (expect.contains("prob_cap_hit")) check_near("prob_cap_hit", s.capped, expect["prob_cap_hit"]);
  else expect_true(s.capped <= 0.0, "the cap was hit");
  const json extra = c.value("extra", json::object());
  if (extra.contains("prob_leftover")) check_near("prob_leftover", s.leftover, extra["prob_leftover"]);
  check_subsets(c.contains("extra") ? c : json{{"extra", json::object()}});

  const partition same = find_equivalent_states(built);
  for (const json* of : {&expect, &extra})
    if (of->contains("lumped_states"))
      check_equal("lumped_states", std::size_t{same.blocks}, (*of)["lumped_states"].get<std::size_t>());
  const solution lumped = solve(lump(built, same), where);
  check_near("T of the lumped chain", lumped.mean, s.mean);
  check_near("var of the lumped chain", lumped.variance, s.variance, 1e-8);

  if (p.acyclic) {
    layered_options layers;
    layers.variance = true;
    const solution pass = solve_layered(p, where, layers);
    check_near("T of the layered pass", pass.mean, s.mean);
    check_near("var of the layered pass", pass.variance, s.variance, 1e-8);
    check_near("left over in the layered pass", pass.leftover, s.leftover);
  }
  if (extra.contains("variance_aware")) check_algebra(c);

  if (c.contains("sim_reduced")) {
    const json& sim = c["sim_reduced"];
    check_within("T against sim_reduced", s.mean, sim.at("T"), 2.0 * sim.at("ci95").get<double>());
    simulation_options runs;
    runs.runs = 20000;
    runs.seed = 7;
    const simulation mine = simulate_reduced(p, where, runs);
    check_within("T of the own simulation", mine.mean, s.mean, 2.0 * mine.half_width);
  }
  if (c.contains("sim_full")) {
    const json& sim = c["sim_full"];
    simulation_options runs;
    runs.runs = 100000;
    runs.seed = 11;
    const simulation mine = simulate(p, detailed_of(c["model"], p), runs);
    const double width = std::hypot(mine.half_width, sim.at("ci95").get<double>());
    check_within("T of the detailed simulation", mine.mean, sim.at("T"), 2.0 * width);
    check_near("var of the detailed simulation", mine.variance, sim.at("var"), 0.04);
    for (const auto& item : sim.at("p").items())
      check_within("p of the detailed simulation", mine.parallelism.at(std::stoul(item.key())), item.value(), 0.004);
  }
}

void check_network(const json& c) {
  const network n = network_of(c);
  std::uint32_t most = 0;
  const json& truth = c.at("expect").at("X");
  for (const auto& item : truth.items())
    for (const std::uint32_t k : counts_of(item.key())) most = std::max(most, k);
  if (n.chains() == 1) {
    const std::vector<double> x = throughput(n, most);
    for (const auto& item : truth.items())
      check_near("X(" + item.key() + ")", x.at(counts_of(item.key()).at(0) - 1), item.value().at(0));
  }
  const lattice l(n, std::vector<std::uint32_t>(n.chains(), most));
  for (const auto& item : truth.items()) {
    const std::vector<std::uint32_t> at = counts_of(item.key());
    for (std::size_t k = 0; k != at.size(); ++k)
      check_near("X(" + item.key() + ") on the lattice", l.throughput(at.data(), k), item.value().at(k));
  }
}

void check_norton(const json& c) {
  const network full = network_of(c.at("full"));
  const std::vector<double> x = c.at("expect").at("X"), mu = c["expect"].at("mu_sub");
  const std::vector<std::size_t> part = c.at("sub");
  const station whole = flow_equivalent(full, part, mu.size());
  for (std::size_t k = 0; k != mu.size(); ++k) check_near("mu_sub", whole.rate[k], mu[k]);
  network small;
  for (std::size_t s = 0; s != full.stations.size(); ++s)
    if (std::find(part.begin(), part.end(), s) == part.end()) small.add(full.stations[s], full.demand[s]);
  small.add(whole, {1.0});
  const std::vector<double> composed = throughput(small, x.size()), direct = throughput(full, x.size());
  for (std::size_t k = 0; k != x.size(); ++k) {
    check_near("X", direct[k], x[k]);
    check_near("X with the flow-equivalent server", composed[k], x[k]);
  }
}

segment segment_of_json(const json& s) {
  segment r;
  r.tasks = s.at("N");
  r.mean = s.at("T");
  for (const auto& item : s.at("p").items()) {
    const std::size_t k = std::stoul(item.key());
    if (r.parallelism.size() <= k) r.parallelism.resize(k + 1, 0.0);
    r.parallelism[k] = item.value();
  }
  return r;
}

void check_segment(const std::string& what, const segment& s, const json& expect) {
  const segment truth = segment_of_json(expect);
  check_near(what + ": N", s.tasks, truth.tasks);
  check_near(what + ": T", s.mean, truth.mean);
  for (std::size_t k = 0; k != truth.parallelism.size(); ++k)
    check_near(what + ": p(" + std::to_string(k) + ")", k < s.parallelism.size() ? s.parallelism[k] : 0.0,
               truth.parallelism[k]);
}

// The names of the expected values are expressions over the segments of the vector: "sequential_ABC",
// "xor_.2_.3_.5" (of the segments in their order), "loop_A_p.6", "parallel_(AB)C", "par_of_seq_[A,C]_[B,B]".
class segment_equations {
 public:
  explicit segment_equations(const json& c) : c_(c), where_(machine::table(c.at("mu").get<std::vector<double>>())) {
    for (const auto& item : c.items())
      if (item.key().size() == 1 && std::isupper(static_cast<unsigned char>(item.key()[0])) != 0)
        named_.emplace(item.key()[0], segment_of_json(item.value()));
  }

  void check() const {
    for (const auto& item : c_.at("expect").items()) {
      const std::string& name = item.key();
      if (name == "abs_tol" || name == "rel_tol") continue;
      if (name == "s") {
        const joint_flow f = flow_together(named('A'), named('B'), where_);
        for (const auto& k : item.value().items())
          check_near("s(" + k.key() + ")", f.parallelism.at(std::stoul(k.key())), k.value());
      } else if (name == "mu_A_joint") {
        check_near(name, flow_together(named('A'), named('B'), where_).rate_a, item.value());
      } else if (name == "mu_B_joint") {
        check_near(name, flow_together(named('A'), named('B'), where_).rate_b, item.value());
      } else if (after(name, "par_of_seq_")) {
        const std::size_t between = name.find("]_[");
        if (between == std::string::npos) throw bad_vector("unknown expected value: " + name);
        const std::vector<segment> pieces =
            parallel_sequences(letters(name.substr(11, between - 11)), letters(name.substr(between)), where_);
        check_equal(name + ": pieces", pieces.size(), item.value().size());
        for (std::size_t i = 0; i != std::min(pieces.size(), item.value().size()); ++i)
          check_segment(name, pieces[i], item.value()[i]);
      } else {
        check_segment(name, value(name), item.value());
      }
    }
  }

 private:
  static bool after(const std::string& name, const std::string& prefix) { return name.compare(0, prefix.size(), prefix) == 0; }
  const segment& named(char letter) const {
    const auto found = named_.find(letter);
    if (found == named_.end()) throw bad_vector(std::string("malformed: no segment ") + letter);
    return found->second;
  }
  std::vector<segment> all() const {
    std::vector<segment> r;
    for (const auto& n : named_) r.push_back(n.second);
    return r;
  }
  std::vector<segment> letters(const std::string& text) const {
    std::vector<segment> r;
    for (const char x : text)
      if (std::isupper(static_cast<unsigned char>(x)) != 0) r.push_back(named(x));
    return r;
  }
  // Letters and groups in parentheses, from left to right.
  segment parallel_of(const std::string& text, std::size_t& at) const {
    segment r;
    for (bool first = true; at != text.size() && text[at] != ')'; first = false) {
      segment next;
      if (text[at] == '(') {
        next = parallel_of(text, ++at);
        if (at == text.size()) throw bad_vector("unknown expected value: parallel_" + text);
      } else {
        next = named(text[at]);
      }
      ++at;
      r = first ? next : parallel(r, next, where_, parallel_rule::fluid);
    }
    return r;
  }
  segment value(const std::string& name) const {
    if (after(name, "sequential_")) return sequential(letters(name.substr(11)));
    if (after(name, "parallel_")) {
      std::size_t at = 0;
      return parallel_of(name.substr(9), at);
    }
    if (after(name, "loop_") && name.size() > 8 && name[6] == '_' && name[7] == 'p')
      return repeated(named(name[5]), std::stod(name.substr(8)));
    if (after(name, "xor_")) {
      std::vector<double> weights;
      for (std::size_t at = 3; at != std::string::npos; at = name.find('_', at + 1))
        weights.push_back(std::stod(name.substr(at + 1)));
      std::vector<segment> parts = all();
      if (parts.size() < weights.size()) throw bad_vector("unknown expected value: " + name);
      parts.resize(weights.size());
      return exclusive_or(parts, weights);
    }
    if (name == "flowchart") {
      // Without "routes" in the vector: those that follow from the three visit counts 43/34, 15/17, 5/4.
      std::vector<std::vector<double>> routes = {{0, .5, .5, 0}, {.3, 0, .7, 0}, {0, .2, 0, .8}};
      if (c_.contains("routes")) routes = c_["routes"].get<std::vector<std::vector<double>>>();
      return flowchart(all(), routes);
    }
    throw bad_vector("unknown expected value: " + name);
  }

  const json& c_;
  machine where_;
  std::map<char, segment> named_;
};

// The program P of the report's section VI, by its segments.
segment process_p(const machine& m, segment& inner) {
  control_graph g;
  g.add("7", "").add("8", "10").add("10", "11", "8").add("11", "", "10");
  inner = segment_of(solve(generate(compile(g)), {m, {}}));
  const segment t = task_segment(m);
  const segment d = sequential(std::vector<segment>{t, t}), e = sequential(std::vector<segment>{t, t, t});
  const segment f = sequential(std::vector<segment>{t, inner, t});
  const segment body =
      sequential(std::vector<segment>{t, exclusive_or(std::vector<segment>{d, e, f}, {1. / 3, 1. / 3, 1. / 3}), t});
  return sequential(std::vector<segment>{t, repeated(body, .1), t});
}

void check_process_p(const json& c) {
  const json& expect = c.at("expect");
  segment inner;
  const segment whole = process_p(machine::table(expect.at("mu").get<std::vector<double>>()), inner);
  check_near("T_G", inner.mean, expect.at("T_G"));
  check_near("N_G", inner.tasks, expect.at("N_G"));
  if (expect.contains("p_G"))
    for (const auto& item : expect["p_G"].items())
      check_near("p_G(" + item.key() + ")", inner.parallelism.at(std::stoul(item.key())), item.value());
  check_segment("P", whole, expect);
  check_near("var", whole.variance, expect.at("var"));
}

}  // namespace

TEST_CASE("every prediction vector is reproduced") {
  oracles::each(oracles::topic::prediction, [](const json& c) {
    const std::string type = c.at("type");
    stated_tolerance = tolerance_of(c);
    oracles::tally::of(oracles::topic::prediction).count("by type", type);
    if (type == "chain") check_chain(c);
    else if (type == "network") check_network(c);
    else if (type == "norton") check_norton(c);
    else if (type == "segments" && c["expect"].contains("T_G")) check_process_p(c);
    else if (type == "segments" && c.contains("mu")) segment_equations(c).check();
    else throw bad_vector("unknown type \"" + type + "\"");
  });
}

TEST_CASE("process P of section VI takes 33.6366 s, by its segments and by its chain") {
  // the network of table 6.1: demands of the four stations of one side, the bus, and three modules
  network n;
  for (const double d : {.3, .5, .2, .4}) n.add(station{}, {d});
  for (int module = 0; module != 3; ++module)
    for (const double d : {.1, .5 / 3, 2. / 3}) n.add(station{}, {d});
  const machine m = machine::table(throughput(n, 4));
  segment inner;
  CHECK(near(process_p(m, inner).mean, 33.6366255144, 1e-11));
  control_graph g;
  g.add("1", "2").add("2", "3|1/3 + 4|1/3 + 5|1/3", "1 + 14").add("3", "12", "2").add("4", "6", "2").add("5", "7 . 8", "2");
  g.add("6", "9", "4").add("7", "13", "5").add("8", "10", "5").add("9", "14", "6").add("10", "11", "8").add("11", "13", "10");
  g.add("12", "14", "3").add("13", "14", "7 . 11").add("14", "2|1/10 + 15|9/10", "9 + 12 + 13").add("15", "", "14");
  const reduction r = reduce(g, m);
  REQUIRE(r.complete);
  // two chains in parallel are mixed by the variance-aware rule: near, not exact
  CHECK(near(r.whole.mean, 33.6366255144, 2e-3));
  CHECK(near(solve(generate(compile(g)), {m, {}}).mean, 33.6366255144, 1e-11));
}
