// SPDX-License-Identifier: Apache-2.0
#include <tulle/serve/model_worker_inline.hpp>
#include <tulle/serve/server_config_inline.hpp>
#include <tulle/serve/server_inline.hpp>
