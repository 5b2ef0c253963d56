/** Any of several choices, each with a title and an explanation; a group of checkboxes. */
import { useId } from 'react'
import './choices.css'

type Check<Id extends string> = { readonly id: Id; readonly title: string; readonly text?: string }

export type ChecksProps<Id extends string> = {
  readonly label: string
  readonly hint?: string | undefined
  readonly error?: string | null | undefined
  readonly choices: readonly Check<Id>[]
  readonly chosen: readonly Id[]
  readonly onToggle: (id: Id, isOn: boolean) => void
}

export function Checks<Id extends string>({ label, hint, error, choices, chosen, onToggle }: ChecksProps<Id>) {
  const id = useId()
  const note = error ?? hint
  return (
    <fieldset className="choices" aria-describedby={note === undefined ? undefined : id}>
      <legend className="field-label">{label}</legend>
      <div className="choices-row">
        {choices.map((choice) => (
          <label key={choice.id} className="choice">
            <input
              type="checkbox"
              checked={chosen.includes(choice.id)}
              onChange={(event) => onToggle(choice.id, event.target.checked)}
            />
            <span className="choice-title">{choice.title}</span>
            {choice.text !== undefined && <span className="choice-text">{choice.text}</span>}
          </label>
        ))}
      </div>
      {note !== undefined && (
        <p
          id={id}
          className={error == null ? 'field-hint choices-note' : 'field-error choices-note'}
          role={error == null ? undefined : 'alert'}
        >
          {note}
        </p>
      )}
    </fieldset>
  )
}
