-- Notes the format of a new schema, which check-format.sql reads.
--
-- Input   none
-- Output  a row of `facts`
insert into holdfast.facts (name, value) values ('format', '1') on conflict do nothing;
