// The words of what is around conversations, which are loaded with the first part that needs them.
import { computed } from '@preact/signals';
import { language } from '..';
import { de } from './de';
import { en, type AroundWords } from './en';

const ALL: Record<string, AroundWords> = { de };

export const around = computed<AroundWords>(() => ALL[language.value] ?? en);
