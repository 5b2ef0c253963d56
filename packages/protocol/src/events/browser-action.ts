/** The fourteen browser actions. Source: agent-server-wire.md 4.8. */
import { z } from 'zod'

const index = z.int().min(0)

export const BrowserAction = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('BrowserNavigateAction'), url: z.string(), new_tab: z.boolean().default(false) }),
  z.strictObject({ kind: z.literal('BrowserClickAction'), index, new_tab: z.boolean().default(false) }),
  z.strictObject({ kind: z.literal('BrowserTypeAction'), index, text: z.string() }),
  z.strictObject({ kind: z.literal('BrowserScrollAction'), direction: z.enum(['down', 'up']).default('down') }),
  z.strictObject({ kind: z.literal('BrowserGoBackAction') }),
  z.strictObject({ kind: z.literal('BrowserGetStateAction'), include_screenshot: z.boolean().default(false) }),
  z.strictObject({
    kind: z.literal('BrowserGetContentAction'),
    extract_links: z.boolean().default(false),
    start_from_char: index.default(0),
  }),
  z.strictObject({ kind: z.literal('BrowserListTabsAction') }),
  z.strictObject({ kind: z.literal('BrowserSwitchTabAction'), tab_id: z.string() }),
  z.strictObject({ kind: z.literal('BrowserCloseTabAction'), tab_id: z.string() }),
  z.strictObject({ kind: z.literal('BrowserGetStorageAction') }),
  z.strictObject({
    kind: z.literal('BrowserSetStorageAction'),
    storage_state: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({ kind: z.literal('BrowserStartRecordingAction') }),
  z.strictObject({ kind: z.literal('BrowserStopRecordingAction') }),
])
export type BrowserAction = z.infer<typeof BrowserAction>
