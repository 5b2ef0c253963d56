/** One of several choices, each with a title and an explanation; a group of radio buttons. */
import { type ReactNode, useId } from 'react'
import './choices.css'

type Choice<Id extends string> = {
  readonly id: Id
  readonly title: string
  readonly text: string
  readonly icon?: ReactNode
}

export type ChoicesProps<Id extends string> = {
  readonly label: string
  readonly choices: readonly Choice<Id>[]
  readonly chosen: Id
  readonly onChoose: (id: Id) => void
}

export function Choices<Id extends string>({ label, choices, chosen, onChoose }: ChoicesProps<Id>) {
  const name = useId()
  return (
    <fieldset className="choices">
      <legend className="field-label">{label}</legend>
      <div className="choices-row">
        {choices.map(({ id, title, text, icon }) => (
          <label key={id} className="choice">
            <input type="radio" name={name} checked={id === chosen} onChange={() => onChoose(id)} />
            <span className="choice-title">
              {icon}
              {title}
            </span>
            <span className="choice-text">{text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}
