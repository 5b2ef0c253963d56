/**
 * Node's HTTP modules, loaded without `import`: an import evaluates every export of the module, and two of them are the runtime's
 * `fetch` and `WebSocket`, about 12 MB that neither an idle server nor a runner needs.
 */
import type http from 'node:http'
import type https from 'node:https'

/** `node:http`, loaded at the first call. */
export const nodeHttp = (): typeof http => process.getBuiltinModule('node:http')

/** `node:https`, loaded at the first call. */
export const nodeHttps = (): typeof https => process.getBuiltinModule('node:https')
