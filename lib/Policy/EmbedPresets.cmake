# cmake -DFILES=a.yaml,b.yaml -DOUTPUT=Presets.inc -P EmbedPresets.cmake: one
# `{"name", R"yaml(text)yaml"},` per file, for Presets.cpp.

string(REPLACE "," ";" files "${FILES}")
set(table "")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME_WE)
  file(READ "${file}" text)
  string(APPEND table "{\"${name}\", R\"yaml(${text})yaml\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "${table}")
