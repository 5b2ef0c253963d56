/** TypeScript client of a Parley server; safe for browsers. */
export { call, type Request, type Server } from './call.ts'
export { ParleyClient } from './client.ts'
export { Conversation, type WatchOptions } from './conversation.ts'
export { CallError } from './errors.ts'
export type { BackOff } from './wait.ts'
export { WorkspaceClient, type CommandOptions, type CommandResult } from './workspace.ts'
