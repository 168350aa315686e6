#include <whywait/base/vector.hpp>
#include <whywait/rules/contribution.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>

namespace base = whywait::base;
namespace rules = whywait::rules;

namespace {

rules::site_use use(std::uint64_t site, std::int64_t calls, std::int64_t ns) {
  rules::site_use u;
  u.site = site;
  u.calls = calls;
  u.duration_ns = ns;
  return u;
}

rules::contribution passed_on(const rules::contribution& c) {
  const rules::own_packet bytes = rules::pack(c);
  return rules::unpack_contribution(bytes.data(), bytes.size());
}

}  // namespace

TEST_CASE("contributions of ranks arrive unchanged through any reduction tree") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::size_t ranks = 1 + random() % 9;
    whywait::base::vector<rules::contribution> all(ranks);
    std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> sums;  // reference
    whywait::base::vector<std::string> texts, packets;
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::uint64_t site = 1; site < 20; ++site) {
        if (random() % 2 == 0) continue;
        const auto calls = static_cast<std::int64_t>(random() % 100);
        all[r].uses.push_back(use(site, calls, calls * 3));
        sums[site].first += calls;
        ++sums[site].second;
      }
      for (std::uint64_t t = random() % 4; t > 0; --t) {
        const std::string text = "text " + std::to_string(random() % 6);
        bool known = false;
        for (const auto& k : all[r].texts) known = known || k.text == text;
        if (known) continue;
        all[r].texts.push_back({"library", text});
        bool seen = false;
        for (const std::string& s : texts) seen = seen || s == text;
        if (!seen) texts.push_back(text);
      }
      if (random() % 2 == 0) {
        packets.push_back(std::to_string(r) + std::string(random() % 50, 'x'));
        const auto* const bytes = reinterpret_cast<const unsigned char*>(packets.back().data());
        all[r].events.emplace_back(bytes, bytes + packets.back().size());
        all[r].ranks.push_back(static_cast<std::int32_t>(r));
      }
    }
    for (std::size_t step = 1; step < ranks; step *= 2)
      for (std::size_t r = 0; r + step < ranks; r += 2 * step) all[r].merge(passed_on(all[r + step]));

    const rules::contribution& root = all[0];
    REQUIRE(root.uses.size() == sums.size());
    std::size_t i = 0;
    for (const auto& [site, sum] : sums) {
      CHECK(root.uses[i].site == site);
      CHECK(root.uses[i].calls == sum.first);
      CHECK(root.uses[i].ranks == sum.second);
      ++i;
    }
    REQUIRE(root.texts.size() == texts.size());
    for (std::size_t t = 0; t < texts.size(); ++t) CHECK(root.texts[t].text == texts[t]);
    REQUIRE(root.events.size() == packets.size());
    for (std::size_t p = 0; p < packets.size(); ++p) {
      CHECK(std::string(root.events[p].begin(), root.events[p].end()) == packets[p]);
      CHECK(packets[p].find(std::to_string(root.ranks[p])) == 0);
    }
  }
}

TEST_CASE("of many call sites the most costly are kept") {
  whywait::base::pod_vector<rules::site_use> uses;
  for (std::uint64_t site = 0; site < 100; ++site) uses.push_back(use(site, 1, static_cast<std::int64_t>(site * 37 % 100)));
  rules::keep_most_costly(uses, 10);
  REQUIRE(uses.size() == 10);
  for (const rules::site_use& u : uses) CHECK(u.duration_ns >= 90);
  for (std::size_t i = 1; i < uses.size(); ++i) CHECK(uses[i - 1].site < uses[i].site);
}

TEST_CASE("a truncated contribution is read up to the cut") {
  rules::contribution c;
  c.uses = {use(1, 2, 3)};
  c.texts = {{"a", "b"}};
  c.events = {{1, 2, 3}};
  c.ranks = {0};
  const rules::own_packet whole = rules::pack(c);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const rules::contribution part = rules::unpack_contribution(whole.data(), size);
    CHECK(part.uses.size() <= 1);
    CHECK(part.events.size() == part.ranks.size());
  }
  CHECK(passed_on(c).texts == c.texts);
}
