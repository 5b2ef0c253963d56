/**
 * Node's own HTTP, without `import`: an import fills in every export of the module at once, and two of them are the runtime's
 * `fetch` and `WebSocket`, some 12 MB that neither a server at rest nor a runner ever needs.
 */
import type http from 'node:http'
import type https from 'node:https'

/** `node:http`, loaded at the first call. */
export const nodeHttp = (): typeof http => process.getBuiltinModule('node:http')

/** `node:https`, loaded at the first call. */
export const nodeHttps = (): typeof https => process.getBuiltinModule('node:https')
