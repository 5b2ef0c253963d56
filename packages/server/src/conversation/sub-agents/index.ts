export type { Parent } from './children.ts'
export { Family, type FamilyDeps, type OwnSubAgents } from './family.ts'
export type { Kin, Purse } from './kin.ts'
export { definitionsIn, readDefinition } from './definition-file.ts'
