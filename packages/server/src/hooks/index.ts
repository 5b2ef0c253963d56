export { hasHooks, openHooks, type Hooks } from './hooks.ts'
export { bucketOf, type AskModel } from './model-hook.ts'
export type { HookQuestion } from './question.ts'
export { hooksIn, loadProjectHooks, mergeHooks, type LoadedHooks } from './load.ts'
