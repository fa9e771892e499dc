# doxygen.sed — A comment on lines of its own documents what follows; one behind a member, that member. Words in
# angle brackets, @ and # are meant literally.
\,^[[:space:]]*//, {
  s,&,&amp;,g
  s,<,\&lt;,g
  s,@,\\@,g
  s,#,\\#,g
  s,^([[:space:]]*)// ?,\1/// ,
  b
}
s,^(.*[;{\)][[:space:]]*)// (.*)$,\1///< \2,
:again
s,(///< .*)<,\1\&lt;,
t again
