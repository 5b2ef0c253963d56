/** The pages of the settings, each loaded when it is first opened. */
import { type ComponentType, lazy, Suspense } from 'react'
import { useLocation } from 'wouter'
import { ROUTES } from '../../routes.ts'
import { NotFoundPage } from '../not-found.tsx'
import { SettingsPage } from './overview.tsx'
import { type SectionId, SECTIONS } from './sections.ts'

const PAGES: Readonly<Record<SectionId, ComponentType>> = {
  model: lazy(async () => ({ default: (await import('../settings-model.tsx')).ModelSettingsPage })),
  agents: lazy(async () => ({ default: (await import('./agents.tsx')).AgentsPage })),
  policy: lazy(async () => ({ default: (await import('./policy.tsx')).PolicySettingsPage })),
  secrets: lazy(async () => ({ default: (await import('./secrets.tsx')).SecretsPage })),
}

export function SettingsPages() {
  const [path] = useLocation()
  const section = path.slice(`${ROUTES.settings}/`.length)
  if (section === '') return <SettingsPage />
  const known = SECTIONS.find((id) => id === section)
  if (known === undefined) return <NotFoundPage />
  const Page = PAGES[known]
  return (
    <Suspense fallback={null}>
      <Page />
    </Suspense>
  )
}
