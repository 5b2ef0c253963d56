/** The button of the header that opens and closes the panel, and the keys of its tabs. */
import { Button } from '../ui/button.tsx'
import { PanelRight } from '../ui/icons.ts'
import { useKeys } from '../ui/keys.ts'
import { panel as words } from '../words/panel.en.ts'
import { lastTab, usePanel } from './open.ts'
import { TABS } from './tabs.ts'

export function PanelButton() {
  const [open, change] = usePanel()
  useKeys(
    TABS.map(({ name, label }, index) => ({
      keys: String(index + 1),
      label: words.key(label),
      run: () => change(open?.name === name ? null : name),
    })),
  )
  return (
    <Button
      look="quiet"
      size="small"
      label={open === null ? words.show : words.hide}
      aria-expanded={open !== null}
      className="panel-button"
      onClick={() => change(open === null ? lastTab() : null)}
    >
      <PanelRight size={16} aria-hidden />
    </Button>
  )
}
