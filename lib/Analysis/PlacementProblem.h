//===- PlacementProblem.h - what may be low, at what cost -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Optimal placement without a program around it. There are variables, each of
// which is low or float32, and values, each of which has the format of its
// producer and is read by users in theirs. The cost of a choice is
//
//   sum over variables in float32                           saving
// + sum over values with low producer and a float32 user    cost of a cast
// + sum over values with float32 producer and a low user    cost of a cast
// + sum over values with a low user of another low format    cost of a cast,
//                                              two thirds if the producer is
//                                              low
//
// and what has to hold is
//
//   joins     A user that joins a value is low only if its producer is.
//   carried   So is a user that a value flows into (what meets there by control
//             flow has one variable), if the value comes from there itself: a
//             sum that a loop carries around stays as precise as it begins. It
//             may come by what is low already and would have had a choice.
//   adopts    A value that adopts is low only if all its users are.
//   formats   With another low format than that of the producer, a user that
//             joins is float32, and so is the producer of a value that adopts.
//   islands   Operations that can choose, and are connected by values, are
//             float32 if none of them touches a low one that can't choose, or
//             a value of 16 bits: they would gain nothing but rounding. (Those
//             that the rules above leave no choice are none of them.) Holds
//             if it is asked for.
//
// Among all cheapest choices that have these properties, the one that has most
// variables low is taken; it is unique. It is a minimum cut between low (the
// source) and float32 (the sink). An arc costs its capacity if its tail is low
// and its head is not: `low -> variable` the saving, `user -> producer` and
// `producer -> user` a cast, with a node between if it serves several users.
// A cast to another low format (float16 beside bfloat16; a value has users of
// one at most) is needed whatever the producer is: a node that is low if such a
// user is, with an arc to float32, and one to the producer for what it costs
// more from there.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ANALYSIS_PLACEMENTPROBLEM_H
#define AMP_LIB_ANALYSIS_PLACEMENTPROBLEM_H

#include "MinimumCut.h"

#include "llvm/ADT/ArrayRef.h"

namespace amp {

/// Built by adding operations, then their variables, and values, then their
/// users. All but the cut takes linear time.
class PlacementProblem {
public:
  using Variable = uint32_t;
  /// What can't choose.
  static constexpr Variable kLow = MinimumCut::kSource;
  static constexpr Variable kFloat32 = MinimumCut::kSink;

  /// What a variable is, and why.
  enum class State : uint8_t {
    Free,    ///< not known before solve()
    Low,     ///< low: the cheapest choice
    Float32, ///< float32: the cheapest choice
    Implied, ///< float32, as something that it joins, or is adopted by
    Island,  ///< float32, as everything near it
  };
  /// How a user reads a value.
  enum class Use : uint8_t { Reads, Joins, Flows };

  PlacementProblem();

  /// The variables that follow are those of one operation.
  void addOperation(bool touchesLow = false);
  Variable addVariable(int64_t saving);
  /// Of what is low already, and would have had a choice as float32.
  Variable addLowVariable();
  /// Only where it can choose. Costs are less than MinimumCut::kInfinite.
  void addSaving(Variable variable, int64_t saving);
  /// Or could have.
  bool canChoose(Variable variable) const { return variable > kFloat32; }
  int64_t getSaving(Variable variable) const { return savings[variable]; }

  void addValue(Variable producer, int64_t castCost, bool adopts = false);
  /// `hasOtherLow` if the user's low format is not that of the producer.
  void addUser(Variable user, Use use = Use::Reads, bool hasOtherLow = false);

  /// To be called once, when all is there.
  void solve(bool keepIslands = true);

  bool isLow(Variable variable) const { return states[variable] == State::Low; }
  State getState(Variable variable) const { return states[variable]; }

private:
  struct Value {
    Variable producer;
    bool adopts;
    int64_t castCost;
    size_t firstUser;
  };
  struct User {
    Variable variable;
    Use use;
    bool hasOtherLow;
  };
  /// One variable is low only if the other is.
  struct Implication {
    Variable low, also;
  };

  bool isFree(Variable variable) const {
    return states[variable] == State::Free;
  }
  /// What is low from the start, before solve() is done.
  bool isFixedLow(Variable variable) const {
    return states[variable] == State::Low;
  }
  llvm::ArrayRef<User> getUsers(size_t value) const;
  void joinCarried();
  void addImplications();
  void propagateFloat32();
  void isolateIslands();
  void cut();
  void addCast(MinimumCut &network, llvm::ArrayRef<MinimumCut::Node> nodes,
               size_t value, bool up);
  void addOtherCast(MinimumCut &network, llvm::ArrayRef<MinimumCut::Node> nodes,
                    size_t value);
  void explainFloat32();

  std::vector<State> states;
  std::vector<int64_t> savings;
  /// Per variable its operation.
  std::vector<uint32_t> operations;
  /// Per operation whether it touches something low.
  std::vector<bool> touchesLow;
  std::vector<Value> values;
  std::vector<User> users;
  bool anyFlow = false;
  std::vector<Implication> implications;
};

} // namespace amp

#endif // AMP_LIB_ANALYSIS_PLACEMENTPROBLEM_H
