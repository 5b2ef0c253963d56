/** The door of this room. */
export { hasHooks, openHooks, type Hooks, type HooksDeps, type Said } from './hooks.ts'
export { expectSupported, loadProjectHooks, mergeHooks, type Loaded, type Project } from './load.ts'
export type { FullMatch } from './match.ts'
