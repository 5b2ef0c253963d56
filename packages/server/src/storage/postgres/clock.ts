/**
 * The clock of the database, which all nodes share. A time that the caller gives goes before it; it is null except in tests.
 * @param value the place of that time, such as `$4`
 */
export const timeSql = (value: string): string =>
  `coalesce(${value}::text, to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`
