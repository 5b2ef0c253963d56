export type * from './storage.ts'
export { openSqlite, type SqliteOptions } from './sqlite/open.ts'
export { probeSqlite } from './preflight.ts'
