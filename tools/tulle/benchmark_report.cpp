// SPDX-License-Identifier: Apache-2.0
#include "benchmark_report.hpp"

#include <algorithm>
#include <bench/measure.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <tulle/core/processor_cores.hpp>
#include <tulle/tensor/isa.hpp>
#include <utility>

namespace {

using OrderedJson = nlohmann::ordered_json;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  const double middle = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - middle) * (value - middle);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

OrderedJson spread(const std::vector<double>& values) {
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  return {{"median", bench::median(values)}, {"least", *min}, {"most", *max}};
}

/// `amount` divided by every time: tokens per second.
OrderedJson rates(std::size_t amount, std::vector<double> seconds) {
  for (double& value : seconds) value = static_cast<double>(amount) / value;
  return spread(seconds);
}

/// How many times as fast the first times are as the second ones of the same round.
OrderedJson ratio(const std::vector<double>& seconds, const std::vector<double>& others) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < seconds.size(); ++i) ratios.push_back(others[i] / seconds[i]);
  return spread(ratios);
}

/// Milliseconds of every step, under DeepSparse's keys.
OrderedJson step_statistics(const Contestant& contestant, std::size_t batch) {
  const std::vector<double>& steps = contestant.steps();
  const double total = std::accumulate(steps.begin(), steps.end(), 0.0);
  OrderedJson result{{"scenario", "sync"},
                     {"items_per_sec", static_cast<double>(batch * steps.size()) / total},
                     {"seconds_ran", total},
                     {"iterations", steps.size()},
                     {"median", 1e3 * bench::median(steps)},
                     {"mean", 1e3 * mean(steps)},
                     {"std", 1e3 * deviation(steps)}};
  for (const auto& [name, share] : std::initializer_list<std::pair<const char*, double>>{{"25.0%", 0.25},
                                                                                         {"50.0%", 0.5},
                                                                                         {"75.0%", 0.75},
                                                                                         {"90.0%", 0.9},
                                                                                         {"95.0%", 0.95},
                                                                                         {"99.0%", 0.99},
                                                                                         {"99.9%", 0.999}}) {
    result[name] = 1e3 * bench::quantile(steps, share);
  }
  return result;
}

/// Time of passes over 2, 3, ... rows of one sequence, also as a multiple of a pass over one row in the same round.
OrderedJson verification(const Contestant& contestant) {
  OrderedJson passes = OrderedJson::array();
  const auto& seconds = contestant.verifications();
  for (std::size_t rows = 2; rows <= seconds.size(); ++rows) {
    passes.push_back({{"rows", rows},
                      {"ms", 1e3 * bench::median(seconds[rows - 1])},
                      {"cost", ratio(seconds[0], seconds[rows - 1])}});
  }
  return passes;
}

/// Bytes of the packed matrices by kernel.
std::map<std::string, std::size_t> kernel_bytes(const Contestant& contestant) {
  std::map<std::string, std::size_t> bytes;
  contestant.model().weights().for_each_linear([&](const tulle::Linear<tulle::AnyKernel>& linear) {
    for (const auto& part : linear.parts) bytes[std::string(part.weights.kernel_name())] += part.weights.size_bytes();
  });
  return bytes;
}

OrderedJson result_of(const Contestant& contestant, const BenchmarkResult& run) {
  const BenchmarkPlan& plan = run.plan;
  const auto kernels = kernel_bytes(contestant);
  const auto heaviest = std::max_element(kernels.begin(), kernels.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto bytes = static_cast<double>(contestant.step_bytes());
  std::vector<double> per_byte;  // share of the bytes that could have been read in the time of a step, in every round
  for (std::size_t i = 0; i < contestant.bandwidths().size(); ++i) {
    per_byte.push_back(1 / (contestant.bandwidths()[i] * contestant.round_medians()[i]));
  }
  const OrderedJson decode = rates(plan.step_tokens(), contestant.steps());
  const OrderedJson prefill = rates(plan.prompt_tokens, contestant.prefills());
  return {{"name", contestant.name()},
          {"kernel", heaviest->first},
          {"isa", tulle::instruction_set_name(tulle::active_instruction_set())},
          {"structure", run.structure},
          {"sparsity", run.sparsity},
          {"values", heaviest->first.substr(heaviest->first.rfind('_') + 1)},
          {"threads", run.threads},
          {"decode_tokens_per_second", decode["median"]},
          {"prefill_tokens_per_second", prefill["median"]},
          {"bytes_per_token", bytes / static_cast<double>(plan.step_tokens())},
          {"bandwidth_share", bytes * bench::median(per_byte)},
          {"time_to_first_token_ms", 1e3 * bench::median(contestant.prefills())},
          {"decode_spread", decode},
          {"prefill_spread", prefill},
          {"verification", verification(contestant)},
          {"kernel_bytes", kernels},
          {"weights_bytes", contestant.model().weights().size_bytes()},
          {"iterations", contestant.steps().size()},
          {"prefills", contestant.prefills().size()}};
}

OrderedJson speculation_report(const BenchmarkResult& run) {
  const SpeculationCosts costs = speculation_costs(run.contestants.front(), run.contestants.back());
  OrderedJson report{{"draft", run.draft_shape},
                     {"tokens", run.speculation_plan.tokens},
                     {"target_pass_ms", 1e3 * costs.target.front()},
                     {"draft_step_ms", 1e3 * costs.draft},
                     {"draft_cost", costs.draft / costs.target.front()},
                     {"runs", OrderedJson::array()}};
  for (const SpeculationRun& each : run.speculation) {
    report["runs"].push_back(
        {{"acceptance", each.acceptance},
         {"spec_length", each.length},
         {"verification_cost", costs.target[each.length] / costs.target.front()},
         {"accepted_of_examined", static_cast<double>(each.accepted) / static_cast<double>(each.examined)},
         {"predicted_speed_up", each.predicted},
         {"speed_up", spread(each.fixed)},
         {"measured_of_predicted", bench::median(each.fixed) / each.predicted},
         {"adaptive_speed_up", spread(each.adaptive)},
         {"same_text", each.same_text}});
  }
  return report;
}

OrderedJson instruction_sets() {
  OrderedJson names = OrderedJson::array();
  for (const tulle::InstructionSet set : tulle::instruction_sets) {
    if (tulle::machine_has(set)) names.push_back(tulle::instruction_set_name(set));
  }
  return names;
}

}  // namespace

OrderedJson benchmark_report(const BenchmarkResult& run) {
  const Contestant& model = run.contestants.front();
  const BenchmarkPlan& plan = run.plan;
  OrderedJson report{{"engine", "tulle"},
                     {"version", TULLE_VERSION},
                     {"orig_model_path", run.model},
                     {"model_path", run.path},
                     {"batch_size", plan.batch},
                     {"input_shapes", nullptr},
                     {"num_cores", run.threads},
                     {"scenario", "sync"},
                     {"scheduler", "single_stream"},
                     {"seconds_to_run", plan.seconds},
                     {"num_streams", 1},
                     {"fraction_of_supported_ops", 1.0},
                     {"sequence_length", model.sequence_length()},
                     {"input_ids_length", plan.input_ids},
                     {"benchmark_result", step_statistics(model, plan.batch)}};
  std::vector<double> bandwidths;
  for (const Contestant& contestant : run.contestants) {
    bandwidths.insert(bandwidths.end(), contestant.bandwidths().begin(), contestant.bandwidths().end());
  }
  report["machine"] = {{"processor", bench::processor_name()},
                       {"cores", tulle::usable_core_count()},
                       {"instruction_sets", instruction_sets()},
                       {"instruction_set", tulle::instruction_set_name(tulle::active_instruction_set())},
                       {"read_bytes_per_second", spread(bandwidths)}};
  report["commit"] = source_commit;
  report["flags"] = run.flags;
  report["settings"] = {{"num_kv_cache_tokens", plan.kv_tokens},
                        {"prompt_tokens", plan.prompt_tokens},
                        {"verify_rows", plan.verify_rows},
                        {"warmup_time", plan.warmup_seconds},
                        {"pinned", run.pinned},
                        {"caveat", run.caveat}};
  report["results"] = OrderedJson::array();
  report["ratios"] = OrderedJson::object();
  for (const Contestant& contestant : run.contestants) {
    report["results"].push_back(result_of(contestant, run));
    if (&contestant == &model || contestant.name() == "draft") continue;
    report["ratios"][contestant.name()] = {{"decode", ratio(model.round_medians(), contestant.round_medians())},
                                           {"prefill", ratio(model.prefills(), contestant.prefills())}};
  }
  if (!run.speculation.empty()) report["speculation"] = speculation_report(run);
  return report;
}
