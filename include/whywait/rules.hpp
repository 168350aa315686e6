#ifndef WHYWAIT_RULES_HPP
#define WHYWAIT_RULES_HPP

// Rules: own events, own rules, and what rules say about a run. Needs no MPI. docs/reference/rules.md
#include <whywait/core/version.hpp>

#include <whywait/base/needs_exceptions.hpp>

#include <whywait/rules/advice.hpp>
#include <whywait/rules/composite.hpp>
#include <whywait/rules/contribution.hpp>
#include <whywait/rules/extend.hpp>
#include <whywait/rules/own_event.hpp>

#endif
