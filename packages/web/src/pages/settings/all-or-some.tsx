/** The choice between everything and a selection. */
import { Checks } from '../../ui/checks.tsx'
import { Choices } from '../../ui/choices.tsx'

type Text = { readonly title: string; readonly text: string }

type AllOrSomeProps = {
  readonly label: string
  readonly all: Text
  readonly some: Text
  readonly names: readonly string[]
  /** Shown instead of an empty selection. */
  readonly none?: string
  /** Null: everything. */
  readonly chosen: readonly string[] | null
  readonly onChange: (chosen: readonly string[] | null) => void
}

export function AllOrSome({ label, all, some, names, none, chosen, onChange }: AllOrSomeProps) {
  // A chosen name that is not known any more can still be removed.
  const shown = [...new Set([...names, ...(chosen ?? [])])]
  return (
    <div className="settings-choice">
      <Choices
        label={label}
        choices={[
          { id: 'all', ...all },
          { id: 'some', ...some },
        ]}
        chosen={chosen === null ? 'all' : 'some'}
        onChoose={(id) => onChange(id === 'all' ? null : [])}
      />
      {chosen !== null && (
        <Checks
          label={some.title}
          hint={shown.length === 0 ? none : undefined}
          choices={shown.map((id) => ({ id, title: id }))}
          chosen={chosen}
          onToggle={(name, isOn) => onChange(shown.filter((one) => (one === name ? isOn : chosen.includes(one))))}
        />
      )}
    </div>
  )
}
