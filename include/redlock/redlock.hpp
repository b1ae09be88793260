#pragma once

/**
 * @file
 * All public headers of the library except the test doubles, in one include.
 */

#include <redlock/client.hpp>
#include <redlock/clock.hpp>
#include <redlock/config.hpp>
#include <redlock/credentials.hpp>
#include <redlock/error.hpp>
#include <redlock/keep_alive.hpp>
#include <redlock/lock.hpp>
#include <redlock/log.hpp>
#include <redlock/reentrant_owner.hpp>
#include <redlock/report.hpp>
#include <redlock/resource_names.hpp>
#include <redlock/result.hpp>
#include <redlock/scope.hpp>
#include <redlock/stats.hpp>
#include <redlock/version.hpp>
#include <redlock/with_lock.hpp>
