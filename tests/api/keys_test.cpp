// Every key of a model file has a counterpart in `Mechanism`, or a reason why it has none.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "io/model_file/model_schema.hpp"
#include "kreisel/mechanism.hpp"

namespace {

using namespace kreisel;

/// By key: what says it in C++. In brackets: why nothing does.
using Counterparts = std::map<std::string, std::string>;

void expect_all(const io::ObjectInfo& object, const Counterparts& known) {
  std::set<std::string> keys;
  for (const io::Key& key : object.keys) {
    keys.insert(key.field.name);
    if (key.field.name == "comment" || key.field.name == "$schema") continue;
    EXPECT_TRUE(known.contains(key.field.name))
        << "\"" << key.field.name << "\" of the object \"" << object.name
        << "\" of model files has no counterpart in C++: add one to include/kreisel/mechanism.hpp and name it here";
  }
  for (const auto& [key, counterpart] : known)
    EXPECT_TRUE(keys.contains(key)) << "model files have no \"" << key << "\" of \"" << object.name << "\" any more";
}

TEST(Keys, OfModelFilesHaveCounterpartsInCpp) {
  const std::string by_rods = "[RodDescription has them in itself]";
  expect_all(io::model_object(), {{"name", "Mechanism(name)"},
                                  {"gravity", "set_gravity"},
                                  {"group", "Mechanism(name, group)"},
                                  {"parameters", "add_parameter"},
                                  {"include", "add_model"},
                                  {"inputs", "add_input"},
                                  {"states", "add_state"},
                                  {"outputs", "add_output"},
                                  {"bodies", "add_body"},
                                  {"materials", by_rods},
                                  {"sections", by_rods},
                                  {"rods", "add_rod"},
                                  {"joints", "add_joint, add_coupler"},
                                  {"drivers", "add_joint with a value"},
                                  {"forces", "add_force, add_law"},
                                  {"events", "add_event"},
                                  {"start", "[Problem::start, which a program may change]"},
                                  {"simulation", "[Options and Span]"}});
  expect_all(io::include_object(), {{"file", "ModelPart::file"},
                                    {"prefix", "ModelPart::prefix"},
                                    {"at", "ModelPart::at"},
                                    {"rotation", "ModelPart::rotation"},
                                    {"parameters", "ModelPart::parameters"},
                                    {"connect", "ModelPart::connect"}});
  const std::string for_people = "[for people who read files]";
  expect_all(io::parameter_object(), {{"value", "add_parameter(name, value)"},
                                      {"min", "[a program checks its numbers]"},
                                      {"max", "[a program checks its numbers]"},
                                      {"unit", for_people},
                                      {"meaning", for_people}});
  expect_all(io::input_object(),
             {{"value", "add_input(name, value)"}, {"unit", "add_input(..., unit)"}, {"meaning", for_people}});
  expect_all(io::state_object(), {{"rate", "add_state(name, rate)"},
                                  {"initial", "add_state(..., initial)"},
                                  {"unit", "add_state(..., unit)"},
                                  {"meaning", for_people}});
  expect_all(io::output_object(), {{"angle", "angle_of"},
                                   {"displacement", "displacement_of"},
                                   {"distance", "distance_between"},
                                   {"position", "position_of"},
                                   {"velocity", "velocity_of"},
                                   {"acceleration", "acceleration_of"},
                                   {"rotation", "rotation_of"},
                                   {"force", "effort_of"},
                                   {"length", "length_of"},
                                   {"speed", "speed_of"},
                                   {"power", "power_of"},
                                   {"reaction", "reaction_of"},
                                   {"section_force", "[rods of programs are elements, which can be asked]"},
                                   {"section_strain", "[as section_force]"},
                                   {"energy", "energy_of"},
                                   {"gap", "gap_of"},
                                   {"formula", "add_output(name, law)"},
                                   {"at", "position_of(body, at)"},
                                   {"relative_to", "MeasureDescription::bodies"},
                                   {"part", "reaction_torque_of"},
                                   {"unit", "add_output(..., unit)"},
                                   {"meaning", for_people}});
  const std::string in_radians = "[radians]";
  expect_all(io::limits_object(), {{"from", "Limits::from"},
                                   {"to", "Limits::to"},
                                   {"from_deg", in_radians},
                                   {"to_deg", in_radians},
                                   {"restitution", "Limits::restitution"},
                                   {"stiffness", "Limits::stiffness"},
                                   {"damping", "Limits::damping"}});
  expect_all(io::coupler_object(), {{"type", "add_coupler"},
                                    {"name", "CouplerDescription::name"},
                                    {"joints", "CouplerDescription::first, second"},
                                    {"ratio", "CouplerDescription::ratio"},
                                    {"offset", "CouplerDescription::offset"},
                                    {"active", "CouplerDescription::is_active"}});
  expect_all(io::event_object(), {{"name", "EventDescription::name"},
                                  {"when", "EventDescription::when"},
                                  {"direction", "EventDescription::direction"},
                                  {"action", "EventDescription::stops, set, off, on, restitution, between, jump"},
                                  {"after", "EventDescription::after"}});
  expect_all(io::law_table_object(),
             {{"table", "Table::points"}, {"of", "Table::of"}, {"interpolation", "Table::interpolation"}});
  expect_all(io::table_object(), {{"table", "Table::points"}, {"interpolation", "Table::interpolation"}});
  expect_all(io::body_object(), {{"name", "Body::name"},
                                 {"mass", "Body::mass"},
                                 {"inertia", "Body::inertia"},
                                 {"position", "Body::position"},
                                 {"rotation", "Body::rotation"},
                                 {"velocity", "Body::velocity"},
                                 {"angular_velocity", "Body::angular_velocity"},
                                 {"group", "Body::group"},
                                 {"shape", "Body::shapes"},
                                 {"shapes", "Body::shapes"}});
}

/// Joints, drivers and forces of any type: their own numbers, words, vectors and laws go by name.
TEST(Keys, OfJointsAndForcesHaveCounterpartsInCpp) {
  const std::set<std::string> of_joints{"type",   "name",  "between", "carrier", "at",      "axis",   "axes",
                                        "x_axis", "teeth", "curve",   "value",   "initial", "limits", "active"};
  const std::set<std::string> of_forces{"type", "name",   "between", "on",    "joint",         "at",    "axis",
                                        "axes", "x_axis", "frame",   "table", "interpolation", "active"};
  // "frames": points and axes of programs are in world coordinates at the start.
  const std::set<std::string> without{"comment", "frames"};
  const auto expect = [&](const io::ObjectInfo& object, const std::set<std::string>& general,
                          const std::vector<const std::vector<Field>*>& own) {
    for (const io::Key& key : object.keys) {
      const std::string& name = key.field.name;
      bool is_known = general.contains(name) || without.contains(name);
      for (const std::vector<Field>* fields : own) is_known = is_known || find_field(*fields, name) != nullptr;
      EXPECT_TRUE(is_known) << "\"" << name << "\" of \"" << object.name << "\" has no counterpart in C++";
    }
  };
  for (const multibody::JointInfo& info : multibody::joint_catalogue())
    expect(io::object_of(info), of_joints, {&info.numbers});
  for (const multibody::ForceInfo& info : multibody::force_catalogue()) {
    const std::vector<Field> law{info.law.field};
    expect(io::object_of(info), of_forces, {&info.numbers, &info.vectors, &info.signals, &info.vector_signals, &law});
  }
  for (const multibody::LawInfo& info : multibody::law_catalogue())
    expect(io::object_of(info), of_forces, {&info.numbers, &info.laws, &info.tables});
}

}  // namespace
