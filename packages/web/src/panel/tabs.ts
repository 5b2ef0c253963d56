/** The tabs of the panel, in their order. A tab is loaded when it is first opened. */
import { type ComponentType, lazy } from 'react'
import { panel as words } from '../words/panel.en.ts'

type TabName = keyof typeof words.tabs

/** Shown inside of the view of the conversation, so `useView` works in it. */
export type TabProps = { readonly id: string }

export type Tab = {
  /** The value of `?panel=`. */
  readonly name: TabName
  readonly label: string
  readonly Content: ComponentType<TabProps>
}

const tab = (name: TabName, load: () => Promise<ComponentType<TabProps>>): Tab => ({
  name,
  label: words.tabs[name],
  Content: lazy(async () => ({ default: await load() })),
})

export const TABS: readonly Tab[] = [
  tab('changes', async () => (await import('./changes/index.tsx')).ChangesTab),
  tab('files', async () => (await import('./files/index.tsx')).FilesTab),
  tab('terminal', async () => (await import('./terminal/index.tsx')).TerminalTab),
  tab('agents', async () => (await import('./agents/index.tsx')).AgentsTab),
  tab('usage', async () => (await import('./usage/index.tsx')).UsageTab),
  tab('tree', async () => (await import('./tree/index.tsx')).TreeTab),
]
