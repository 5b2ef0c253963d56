/** The pages of the settings in their order. */
import { ROUTES } from '../../routes.ts'

export const SECTIONS = ['model', 'agents', 'policy', 'secrets'] as const
export type SectionId = (typeof SECTIONS)[number]

export const pathOf = (section: SectionId): string => `${ROUTES.settings}/${section}`
