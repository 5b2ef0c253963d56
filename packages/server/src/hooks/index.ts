/** The door of this room. */
export { hasHooks, openHooks, type Hooks, type HooksDeps, type Said } from './hooks.ts'
export { bucketOf, type AskModel } from './model-hook.ts'
export type { HookQuestion } from './question.ts'
export { hooksIn, loadProjectHooks, mergeHooks, type Loaded, type Project } from './load.ts'
export type { FullMatch } from './match.ts'
